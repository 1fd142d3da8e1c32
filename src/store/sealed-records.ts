// Records whose values are encrypted: for payloads and credentials. AES-256-GCM, with the name and the key
// of the record as additional data, so that a value that was moved to another key cannot be opened. A value
// that cannot be opened counts as unreadable. Values may be JSON or bytes; they are stored as bytes where the
// records below take them, and as Base64 in JSON otherwise.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { asBuffer, isBytes } from './contract/bytes.ts';
import type { ConditionalPut, RecordEntry, Records } from './contract/records.ts';
import { jsonText } from './store.ts';
import { StoreError } from './store-error.ts';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;
/** Before what is encrypted. */
const headBytes = ivBytes + tagBytes;
/** Encrypted at once: no more memory is needed than for the outcome. */
const stepBytes = 64 * 1024;
/** Before values that are bytes, inside of what is encrypted. No JSON text begins with it. */
const bytesMark = Buffer.of(0);

/** `secret` has 32 bytes. */
export function sealedRecords(records: Records, name: string, secret: Buffer): Records {
  const sealed = (key: string, value: unknown) => {
    const parts = isBytes(value) ? [bytesMark, value] : [Buffer.from(jsonText(value))];
    const bytes = seal(secret, `${name}\n${key}`, parts);
    return records.takesBytes ? bytes : { sealed: bytes.toString('base64') };
  };
  const opened = (entry: RecordEntry): RecordEntry => {
    const bytes = sealedIn(entry.value);
    const plain = bytes && open(secret, `${name}\n${entry.key}`, bytes);
    if (plain !== undefined) return { ...entry, value: valueIn(plain) };
    const detail = `a record of ${name} cannot be decrypted: it was written with another key, or is damaged`;
    throw new StoreError('unreadable', detail);
  };
  const openedPut = (put: ConditionalPut): ConditionalPut =>
    put.isPut || put.entry === undefined ? put : { isPut: false, entry: opened(put.entry) };
  return {
    takesBytes: true,
    get: async (key) => {
      const entry = await records.get(key);
      return entry && opened(entry);
    },
    put: async (key, value, options) => records.put(key, sealed(key, value), options),
    putIfAbsent: async (key, value, options) =>
      openedPut(await records.putIfAbsent(key, sealed(key, value), options)),
    compareAndSet: async (key, version, value, options) =>
      openedPut(await records.compareAndSet(key, version, sealed(key, value), options)),
    remove: (key) => records.remove(key),
    entries: async (prefix) =>
      (await records.entries(prefix)).flatMap((entry) => {
        try {
          return opened(entry);
        } catch (error) {
          if (error instanceof StoreError) return [];
          throw error;
        }
      }),
    isWhole: () => records.isWhole(),
  };
}

function seal(secret: Buffer, about: string, parts: readonly Uint8Array[]): Buffer {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, secret, iv);
  cipher.setAAD(Buffer.from(about));
  const size = parts.reduce((sum, { length }) => sum + length, headBytes);
  // Memory of its own, so that it can be moved to another thread.
  const sealed = Buffer.allocUnsafeSlow(size);
  let end = headBytes;
  for (const part of parts) {
    for (let at = 0; at < part.length; at += stepBytes) {
      end += cipher.update(part.subarray(at, at + stepBytes)).copy(sealed, end);
    }
  }
  cipher.final();
  iv.copy(sealed);
  cipher.getAuthTag().copy(sealed, ivBytes);
  return sealed;
}

/** Undefined if it is nothing that was sealed. */
function sealedIn(value: unknown): Buffer | undefined {
  if (isBytes(value)) return asBuffer(value);
  const { sealed } = (value ?? {}) as { readonly sealed?: unknown };
  return typeof sealed === 'string' ? Buffer.from(sealed, 'base64') : undefined;
}

/** Undefined if it was sealed otherwise, or changed. */
function open(secret: Buffer, about: string, bytes: Buffer): Buffer | undefined {
  if (bytes.length < headBytes) return undefined;
  const decipher = createDecipheriv(algorithm, secret, bytes.subarray(0, ivBytes));
  decipher.setAAD(Buffer.from(about));
  decipher.setAuthTag(bytes.subarray(ivBytes, headBytes));
  try {
    const body = bytes.subarray(headBytes);
    return Buffer.concat([decipher.update(body), decipher.final()]);
  } catch {
    return undefined;
  }
}

function valueIn(plain: Buffer): unknown {
  return plain[0] === 0 ? plain.subarray(1) : JSON.parse(plain.toString('utf8'));
}
