// One entry of the log of letters: letters that came, and numbers of letters that are done with. It is stored as bytes:
// the length of a JSON text, the text with everything but the bodies, and the bodies as they are. Entries of earlier
// versions are JSON as a whole.

import { asBuffer, isBytes } from '../../store/contract/bytes.ts';
import {
  isLetterFacts,
  isWrittenLetter,
  type LetterFacts,
  letterIn,
  type StoredLetter,
} from './stored-letter.ts';

export interface Entry {
  readonly put: readonly StoredLetter[];
  readonly done: readonly number[];
}

interface Head {
  readonly put: readonly (LetterFacts & { readonly size: number })[];
  readonly done: readonly number[];
}

const lengthBytes = 4;

export function bytesOfEntry({ put, done }: Entry): Buffer {
  const head: Head = {
    put: put.map(({ body, ...facts }) => ({ ...facts, size: body.length })),
    done,
  };
  const text = JSON.stringify(head);
  const textBytes = Buffer.byteLength(text);
  const size = put.reduce((sum, { body }) => sum + body.length, lengthBytes + textBytes);
  // Memory of its own, which can be moved to the thread of the database.
  const bytes = Buffer.allocUnsafeSlow(size);
  bytes.writeUInt32BE(textBytes, 0);
  bytes.write(text, lengthBytes);
  let at = lengthBytes + textBytes;
  for (const { body } of put) at += body.copy(bytes, at);
  return bytes;
}

/** Undefined if it is none. */
export function entryIn(value: unknown): Entry | undefined {
  if (isBytes(value)) return entryInBytes(asBuffer(value));
  const { put, done } = (value ?? {}) as Partial<Record<keyof Entry, unknown>>;
  if (!Array.isArray(put) || !put.every(isWrittenLetter) || !isNumbers(done)) return undefined;
  return { put: put.map(letterIn), done };
}

function entryInBytes(bytes: Buffer): Entry | undefined {
  if (bytes.length < lengthBytes) return undefined;
  const end = lengthBytes + bytes.readUInt32BE(0);
  const head = end <= bytes.length ? headIn(bytes.toString('utf8', lengthBytes, end)) : undefined;
  if (head === undefined) return undefined;
  let at = end;
  const put = head.put.map(({ size, ...facts }) => {
    at += size;
    return { ...facts, body: bytes.subarray(at - size, at) };
  });
  return at === bytes.length ? { put, done: head.done } : undefined;
}

function headIn(text: string): Head | undefined {
  try {
    const { put, done } = (JSON.parse(text) ?? {}) as Partial<Record<keyof Head, unknown>>;
    if (!Array.isArray(put) || !put.every(isSized) || !isNumbers(done)) return undefined;
    return { put, done };
  } catch {
    // It is none of ours.
    return undefined;
  }
}

function isSized(value: unknown): boolean {
  if (!isLetterFacts(value)) return false;
  const { size } = value as { readonly size?: unknown };
  return Number.isSafeInteger(size) && (size as number) >= 0;
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((number) => typeof number === 'number');
}
