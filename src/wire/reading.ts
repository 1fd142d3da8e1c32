// Ensures that the objects we read can be read in only one way: no duplicate key (compared after
// unescaping), and none of our keys written with escapes. Otherwise the scanner could authorize one
// `name` while the server runs another. A violation is recorded, not thrown: the rest of the frame
// is still checked, so that invalid JSON is always reported as invalid JSON, wherever the mistake
// is. Objects below (arguments, content) are only skipped, and keep their duplicates.

import { isDisguised } from './envelope-keys.ts';
import { skipColon, skipSpace, skipValue, unexpected } from './grammar.ts';
import { type Member, memberKey, ObjectSpan, spells } from './span.ts';
import { skipString } from './strings.ts';
import { type RefusalReason, WireError } from './wire-error.ts';

/**
 * More members than this in one object are refused: comparing them costs memory and time that a
 * frame of the allowed size must not be able to use.
 */
export const maxMembers = 16_384;

/** A few short plain keys are compared in pairs, without making strings; others in a set. */
const fewMembers = 16;
const shortKeyBytes = 64;

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The role of an object, which decides which of its members are read as objects too. */
export type Role = 'message' | 'carrier' | 'leaf';

export interface Complaint {
  readonly reason: RefusalReason;
  readonly offset: number;
}

export class Reading {
  readonly #bytes: Buffer;
  readonly #maxDepth: number;
  #complaint: Complaint | undefined;

  constructor(bytes: Buffer, maxDepth: number) {
    this.#bytes = bytes;
    this.#maxDepth = maxDepth;
    this.#complaint = undefined;
  }

  /** The first thing that could be read in more than one way, if there is one. */
  get complaint(): Complaint | undefined {
    return this.#complaint;
  }

  /** Reads the object whose brace stands at `start`, inside `depth` open containers. */
  object(start: number, role: Role, depth: number): ObjectSpan {
    const bytes = this.#bytes;
    if (depth >= this.#maxDepth) throw new WireError('too-deep', start);
    let last: Member | undefined;
    let count = 0;
    let seen: Set<string> | undefined;
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] === closeBrace) return new ObjectSpan(bytes, start, at + 1, undefined);
    for (;;) {
      if (bytes[at] !== quote) throw unexpected(bytes, at);
      let end: number;
      if (count < maxMembers) {
        const member = this.#member(at + 1, role, depth + 1, last);
        count++;
        if (seen === undefined && (count > fewMembers || !isShort(member))) {
          seen = keysUpTo(bytes, last);
        }
        const isTwin =
          seen === undefined ? isTaken(bytes, member) : isIn(seen, memberKey(bytes, member));
        if (isTwin) this.#complain('duplicate-key', member.keyStart);
        last = member;
        end = member.end;
      } else {
        this.#complain('too-many-members', at);
        const value = skipColon(bytes, skipString(bytes, at + 1));
        end = skipValue(bytes, value, depth + 1, this.#maxDepth);
      }
      at = skipSpace(bytes, end);
      const next = bytes[at];
      if (next === closeBrace) return new ObjectSpan(bytes, start, at + 1, last);
      if (next !== comma) throw unexpected(bytes, at);
      at = skipSpace(bytes, at + 1);
    }
  }

  #member(keyStart: number, role: Role, depth: number, previous: Member | undefined): Member {
    const bytes = this.#bytes;
    let keyEnd = plainEnd(bytes, keyStart);
    let unescaped: string | undefined;
    if (bytes[keyEnd] !== quote) {
      keyEnd = skipString(bytes, keyStart) - 1;
      unescaped = this.#unescape(keyStart, keyEnd, role);
    }
    const start = skipColon(bytes, keyEnd + 1);
    const inner = bytes[start] === openBrace ? roleOf(role, bytes, keyStart, keyEnd) : undefined;
    // After a violation nothing further is read: repeating `params` must not repeat the work.
    const isRead = inner !== undefined && this.#complaint === undefined;
    const object = isRead ? this.object(start, inner, depth) : undefined;
    const end = object === undefined ? skipValue(bytes, start, depth, this.#maxDepth) : object.end;
    return { start, end, keyStart, keyEnd, unescaped, object, previous };
  }

  #unescape(start: number, end: number, role: Role): string {
    const spelling = this.#bytes.toString('utf8', start, end);
    const key = JSON.parse(`"${spelling}"`) as string;
    if (role === 'message' || isDisguised(spelling, key)) this.#complain('escaped-key', start);
    return key;
  }

  #complain(reason: RefusalReason, offset: number): void {
    this.#complaint ??= { reason, offset };
  }
}

function roleOf(role: Role, bytes: Buffer, keyStart: number, keyEnd: number): Role | undefined {
  if (role === 'message') {
    if (spells(bytes, keyStart, keyEnd, 'params')) return 'carrier';
    if (spells(bytes, keyStart, keyEnd, 'result')) return 'carrier';
    if (spells(bytes, keyStart, keyEnd, 'error')) return 'leaf';
  }
  if (role === 'carrier' && spells(bytes, keyStart, keyEnd, '_meta')) return 'leaf';
  return undefined;
}

/**
 * The first byte that ends the plain part of a string: its quote, or a byte that needs a closer
 * look.
 */
function plainEnd(bytes: Buffer, start: number): number {
  const end = bytes.length;
  let at = start;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte === quote || byte === backslash || byte < 0x20) break;
    at++;
  }
  return at;
}

function isShort(member: Member): boolean {
  return member.unescaped === undefined && member.keyEnd - member.keyStart <= shortKeyBytes;
}

/** Does one of the members before it, all short, have the same key? */
function isTaken(bytes: Buffer, member: Member): boolean {
  let earlier = member.previous;
  while (earlier !== undefined && !isSameKey(bytes, earlier, member)) earlier = earlier.previous;
  return earlier !== undefined;
}

function isSameKey(bytes: Buffer, one: Member, other: Member): boolean {
  const length = one.keyEnd - one.keyStart;
  if (other.keyEnd - other.keyStart !== length) return false;
  for (let index = 0; index < length; index++) {
    if (bytes[one.keyStart + index] !== bytes[other.keyStart + index]) return false;
  }
  return true;
}

/** Was it in the set before? Now it is. */
function isIn(seen: Set<string>, key: string): boolean {
  const before = seen.size;
  return seen.add(key).size === before;
}

function keysUpTo(bytes: Buffer, last: Member | undefined): Set<string> {
  const keys = new Set<string>();
  for (let member = last; member !== undefined; member = member.previous) {
    keys.add(memberKey(bytes, member));
  }
  return keys;
}
