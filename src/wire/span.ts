// Positions in a frame. A span is a value's position in the bytes, without the white space around
// it; an ObjectSpan is the position of an object whose members have been read, and finds them by
// key. Neither copies anything: a span is meaningful only together with the bytes it was read from,
// and whoever changes those bytes has to scan again.

import type { EnvelopeKey } from './envelope-keys.ts';

/** Offsets into the bytes of the message; `end` is the byte after the last one. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One member of an object that was read. Its span is that of the value. */
export interface Member extends Span {
  /** The inside of the key, between its quotes. */
  readonly keyStart: number;
  readonly keyEnd: number;
  /** The decoded key, if it is written with escapes. */
  readonly unescaped: string | undefined;
  /** The value, if it was read as an object too. */
  readonly object: ObjectSpan | undefined;
  /** The member before this one: a linked list is cheaper to build than a growing array. */
  readonly previous: Member | undefined;
}

export class ObjectSpan implements Span {
  readonly start: number;
  readonly end: number;
  readonly #bytes: Buffer;
  readonly #last: Member | undefined;

  constructor(bytes: Buffer, start: number, end: number, last: Member | undefined) {
    this.start = start;
    this.end = end;
    this.#bytes = bytes;
    this.#last = last;
  }

  /** The member's value: an ObjectSpan if it was read as one. */
  get(key: EnvelopeKey): Span | undefined {
    const member = this.find(key);
    return member?.object ?? member;
  }

  /** The member's value, if it was read as an object. */
  object(key: EnvelopeKey): ObjectSpan | undefined {
    return this.find(key)?.object;
  }

  find(key: EnvelopeKey): Member | undefined {
    let member = this.#last;
    while (member !== undefined && !isNamed(this.#bytes, member, key)) member = member.previous;
    return member;
  }

  /** Decoded, in the order of the document. */
  keys(): readonly string[] {
    return this.members().map((member) => memberKey(this.#bytes, member));
  }

  /** In the order of the document. */
  members(): readonly Member[] {
    const members: Member[] = [];
    for (let member = this.#last; member !== undefined; member = member.previous) {
      members.push(member);
    }
    return members.reverse();
  }
}

/** The member's key, decoded. */
export function memberKey(bytes: Buffer, member: Member): string {
  return member.unescaped ?? bytes.toString('utf8', member.keyStart, member.keyEnd);
}

function isNamed(bytes: Buffer, member: Member, key: EnvelopeKey): boolean {
  if (member.unescaped !== undefined) return member.unescaped === key;
  return spells(bytes, member.keyStart, member.keyEnd, key);
}

/** Do these bytes spell the ASCII word? Compared byte by byte, without making a string. */
export function spells(bytes: Buffer, start: number, end: number, word: string): boolean {
  if (end - start !== word.length) return false;
  for (let index = 0; index < word.length; index++) {
    if (bytes[start + index] !== word.charCodeAt(index)) return false;
  }
  return true;
}
