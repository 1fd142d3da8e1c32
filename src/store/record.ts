// One record as the bytes of one file: a first line with the format's version and a checksum of all
// that follows, a line that describes the record, and the value. A file that was cut short or in
// which a single bit changed is never accepted as a record, nor is one with a valid checksum and an
// invalid description. Other files decide where the file is.

import { createHash } from 'node:crypto';

export interface StoredRecord {
  readonly collection: string;
  readonly key: string;
  /** Milliseconds since the epoch; null: it does not expire. */
  readonly expiresAt: number | null;
  /**
   * Identifies this write of the record; a record of an older Holdfast uses its checksum instead.
   */
  readonly version: string;
  /** The value as JSON text. */
  readonly text: string;
}

export type Decoded =
  | { readonly kind: 'record'; readonly record: StoredRecord; readonly value: unknown }
  | { readonly kind: 'damaged'; readonly reason: string }
  /** Valid, but written by a newer version of Holdfast. */
  | { readonly kind: 'newer'; readonly version: number };

const format = 1;
const firstLine = /^holdfast-record (\d{1,9}) ([0-9a-f]{64})$/;

export function encodeRecord({ text, ...head }: StoredRecord): Buffer {
  const body = `${JSON.stringify(head)}\n${text}\n`;
  return Buffer.from(`holdfast-record ${format} ${checksum(format, body)}\n${body}`);
}

export function decodeRecord(bytes: Buffer): Decoded {
  const end = bytes.indexOf(0x0a);
  const [, written, sum] = firstLine.exec(bytes.toString('latin1', 0, Math.max(0, end))) ?? [];
  if (written === undefined) return { kind: 'damaged', reason: 'it does not begin as a record' };
  const body = bytes.subarray(end + 1);
  // The version is part of the checksum, so that a damaged number is not taken for a newer version.
  if (checksum(Number(written), body) !== sum) {
    return { kind: 'damaged', reason: 'its checksum does not match' };
  }
  if (Number(written) !== format) return { kind: 'newer', version: Number(written) };
  const [head = '', text = ''] = body.toString('utf8').split('\n', 2);
  const about = parsed(head);
  if (!isHead(about)) return { kind: 'damaged', reason: 'it does not say what it is' };
  const value = parsed(text);
  if (value === undefined) return { kind: 'damaged', reason: 'its value is not JSON' };
  const { collection, key, expiresAt, version = sum } = about;
  return { kind: 'record', record: { collection, key, expiresAt, version, text }, value };
}

/** Undefined where it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Head = Omit<StoredRecord, 'text' | 'version'> & { readonly version?: string };

function isHead(value: unknown): value is Head {
  const head = value as Partial<Record<keyof StoredRecord, unknown>> | null | undefined;
  return (
    typeof head?.collection === 'string' &&
    typeof head.key === 'string' &&
    (head.expiresAt === null || typeof head.expiresAt === 'number') &&
    (head.version === undefined || typeof head.version === 'string')
  );
}

function checksum(written: number, body: string | Buffer): string {
  return createHash('sha256').update(`${written}\n`).update(body).digest('hex');
}
