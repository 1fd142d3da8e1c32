// A line of the audit log: one object of JSON with its number, the SHA-256 of the line before (over its
// exact bytes, with the line break) and, as the last member, a MAC over everything before that member.
// With a key it is an HMAC, which nobody can make who does not have the key; without one it is a plain
// SHA-256, which finds damage and not forgery.

import { createHash, createHmac } from 'node:crypto';
import { isRecord } from '../kernel/json-values.ts';
import { printableJson } from '../kernel/printable.ts';
import type { AuditRecord } from './audit-record.ts';

/** Of the lines that this program writes. */
export const lineVersion = 1;

/** Where a chain is: the number of the last line and its hash. */
export interface ChainEnd {
  readonly n: number;
  readonly hash: string;
}

/** Before the first line. */
export const chainBegin: ChainEnd = { n: 0, hash: '0'.repeat(64) };

/** Longer than any line of ours. */
export const maxLineBytes = 65_536;

/** The line after this end, with its line break, and the new end. */
export function nextLine(
  end: ChainEnd,
  record: AuditRecord,
  key: Buffer | null,
): { readonly line: string; readonly end: ChainEnd } {
  const n = end.n + 1;
  const said = printableJson(JSON.stringify(record)).slice(1, -1);
  const body = `{"v":${lineVersion},"n":${n},"prev":"${end.hash}",${said}`;
  const line = `${body},"mac":"${macOf(body, key)}"}\n`;
  return { line, end: { n, hash: hashOf(line) } };
}

export function hashOf(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function macOf(body: string | Buffer, key: Buffer | null): string {
  return key === null ? hashOf(body) : createHmac('sha256', key).update(body).digest('hex');
}

/** Names a key without telling anything of it. */
export function keyName(key: Buffer): string {
  return hashOf(Buffer.concat([Buffer.from('holdfast audit '), key])).slice(0, 16);
}

/** A line as it was read, not yet checked. */
export interface ReadLine {
  readonly version: number;
  readonly n: number;
  readonly prev: string;
  readonly hash: string;
  readonly members: Readonly<Record<string, unknown>>;
}

const tailLength = ',"mac":"'.length + 64 + '"}'.length;
const head = /^\{"v":(\d{1,9}),"n":(\d{1,15}),"prev":"([0-9a-f]{64})",/;
const tail = /^,"mac":"([0-9a-f]{64})"\}$/;

/** `bytes` without the line break; undefined if it is not a line of ours. */
export function readLine(bytes: Buffer): ReadLine | undefined {
  const start = head.exec(bytes.subarray(0, 128).toString('latin1'));
  const isEnded = tail.test(bytes.subarray(-tailLength).toString('latin1'));
  if (start === null || !isEnded) return undefined;
  const members = parsed(bytes.toString('utf8'));
  if (members === undefined) return undefined;
  const hash = createHash('sha256').update(bytes).update('\n').digest('hex');
  return { version: Number(start[1]), n: Number(start[2]), prev: start[3] ?? '', hash, members };
}

/** Whether the line is as it was written by somebody with this key. */
export function hasMac(bytes: Buffer, key: Buffer | null): boolean {
  const end = bytes.subarray(-tailLength).toString('latin1');
  return tail.exec(end)?.[1] === macOf(bytes.subarray(0, -tailLength), key);
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
