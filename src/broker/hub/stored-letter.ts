// A letter as it is stored. Its body is text where it is valid UTF-8, as JSON is, and Base64 otherwise, so that
// every byte comes back as it was.

import { isUtf8 } from 'node:buffer';
import type { Sender } from '../contract.ts';

export interface StoredLetter {
  /** Of this broker, in the order in which letters came; never used twice. */
  readonly number: number;
  readonly id: string;
  readonly from: Sender;
  readonly to: string;
  /** The one seat that it is for; null: any. */
  readonly seat: string | null;
  readonly kind: string;
  readonly about: string | null;
  /** Wall time of the broker; null: never. */
  readonly expiresAt: number | null;
  readonly coding: 'text' | 'base64';
  readonly body: string;
}

export function storedBody(body: Buffer): Pick<StoredLetter, 'body' | 'coding'> {
  if (isUtf8(body)) return { coding: 'text', body: body.toString('utf8') };
  return { coding: 'base64', body: body.toString('base64') };
}

export function bodyOf({ coding, body }: Pick<StoredLetter, 'body' | 'coding'>): Buffer {
  return Buffer.from(body, coding === 'text' ? 'utf8' : 'base64');
}

export function isStoredLetter(value: unknown): value is StoredLetter {
  if (typeof value !== 'object' || value === null) return false;
  const { number, id, from, to, seat, kind, about, expiresAt, coding, body } = value as Partial<
    Record<keyof StoredLetter, unknown>
  >;
  return (
    typeof number === 'number' &&
    typeof id === 'string' &&
    isSender(from) &&
    typeof to === 'string' &&
    isTextOrNull(seat) &&
    typeof kind === 'string' &&
    isTextOrNull(about) &&
    (expiresAt === null || typeof expiresAt === 'number') &&
    (coding === 'text' || coding === 'base64') &&
    typeof body === 'string'
  );
}

function isSender(value: unknown): value is Sender {
  if (typeof value !== 'object' || value === null) return false;
  const { mailbox, seat, role } = value as Partial<Record<keyof Sender, unknown>>;
  return typeof mailbox === 'string' && typeof seat === 'string' && isTextOrNull(role);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}
