// A letter as it is stored, and as it is put aside for a person: there its body is text where it is valid UTF-8, as
// JSON is, and Base64 otherwise, so that every byte can be had.

import { isUtf8 } from 'node:buffer';
import type { Sender } from '../contract.ts';

export interface StoredLetter {
  /** Of this broker, in the order in which letters came; never used twice. */
  readonly number: number;
  readonly id: string;
  readonly from: Sender;
  readonly to: string;
  /** Of the worker that it is for; absent: it is for none, or an earlier version has kept it. */
  readonly credential?: string | undefined;
  /** The one seat that it is for; null: any. */
  readonly seat: string | null;
  readonly kind: string;
  readonly about: string | null;
  /** Wall time of the broker; null: never. */
  readonly expiresAt: number | null;
  readonly body: Buffer;
}

/** Everything but the body. */
export type LetterFacts = Omit<StoredLetter, 'body'>;

/** As it is in JSON. */
export interface WrittenLetter extends LetterFacts {
  readonly coding: 'text' | 'base64';
  readonly body: string;
}

export function writtenLetter(letter: StoredLetter): WrittenLetter {
  const { body } = letter;
  if (isUtf8(body)) return { ...letter, coding: 'text', body: body.toString('utf8') };
  return { ...letter, coding: 'base64', body: body.toString('base64') };
}

export function letterIn({ coding, body, ...facts }: WrittenLetter): StoredLetter {
  return { ...facts, body: Buffer.from(body, coding === 'text' ? 'utf8' : 'base64') };
}

export function isWrittenLetter(value: unknown): value is WrittenLetter {
  if (!isLetterFacts(value)) return false;
  const { coding, body } = value as Partial<Record<keyof WrittenLetter, unknown>>;
  return (coding === 'text' || coding === 'base64') && typeof body === 'string';
}

export function isLetterFacts(value: unknown): value is LetterFacts {
  if (typeof value !== 'object' || value === null) return false;
  const { number, id, from, to, credential, seat, kind, about, expiresAt } = value as Partial<
    Record<keyof LetterFacts, unknown>
  >;
  return (
    typeof number === 'number' &&
    typeof id === 'string' &&
    isSender(from) &&
    typeof to === 'string' &&
    isTextOrAbsent(credential) &&
    isTextOrNull(seat) &&
    typeof kind === 'string' &&
    isTextOrNull(about) &&
    (expiresAt === null || typeof expiresAt === 'number')
  );
}

function isSender(value: unknown): value is Sender {
  if (typeof value !== 'object' || value === null) return false;
  const { mailbox, seat, role, credential } = value as Partial<Record<keyof Sender, unknown>>;
  const isNamed = typeof mailbox === 'string' && typeof seat === 'string' && isTextOrNull(role);
  // Letters of earlier versions do not say it.
  return isNamed && isTextOrAbsent(credential);
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}
