// Records whose values are encrypted: for payloads and credentials. AES-256-GCM, with the name and the key
// of the record as additional data, so that a value that was moved to another key cannot be opened. A value
// that cannot be opened counts as unreadable.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { ConditionalPut, RecordEntry, Records } from './contract/records.ts';
import { jsonText } from './store.ts';
import { StoreError } from './store-error.ts';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** `secret` has 32 bytes. */
export function sealedRecords(records: Records, name: string, secret: Buffer): Records {
  const sealed = (key: string, value: unknown) => ({
    sealed: seal(secret, `${name}\n${key}`, jsonText(value)),
  });
  const opened = (entry: RecordEntry): RecordEntry => {
    const { sealed: text } = (entry.value ?? {}) as { readonly sealed?: unknown };
    const json = typeof text === 'string' ? open(secret, `${name}\n${entry.key}`, text) : undefined;
    if (json !== undefined) return { ...entry, value: JSON.parse(json) };
    const detail = `a record of ${name} cannot be decrypted: it was written with another key, or is damaged`;
    throw new StoreError('unreadable', detail);
  };
  const openedPut = (put: ConditionalPut): ConditionalPut =>
    put.isPut || put.entry === undefined ? put : { isPut: false, entry: opened(put.entry) };
  return {
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

function seal(secret: Buffer, about: string, text: string): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, secret, iv);
  cipher.setAAD(Buffer.from(about));
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
}

/** Undefined if it was sealed otherwise, or changed. */
function open(secret: Buffer, about: string, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < ivBytes + tagBytes) return undefined;
  const decipher = createDecipheriv(algorithm, secret, bytes.subarray(0, ivBytes));
  decipher.setAAD(Buffer.from(about));
  decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
  try {
    const body = bytes.subarray(ivBytes + tagBytes);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
