// The form of a message on a link, and its reader. A frame has a mark, three lengths, the kind, the head as JSON and
// the payload. The mark and the bounds are checked before anything is read by a length, so that a stream that is out
// of step is noticed at once. A part that comes whole in one chunk is not copied; one that comes in pieces is copied
// once, into a buffer of its size.

import { isUtf8 } from 'node:buffer';
import { errnoOf } from '../kernel/errno.ts';

/** What JSON has. Undefined members are left out, as `JSON.stringify` does. */
export type JsonValue = string | number | boolean | null | object;

/** Why a link has ended, if not because one side closed it between two messages. */
export type LinkReason =
  /** What came is not a frame, or its head is not JSON. */
  | 'bad_frame'
  /** A message of this kind cannot be used: its listener has refused it. */
  | 'bad_message'
  /** A message is larger than a link carries. */
  | 'too_large'
  /** The other side does not read, or nobody listens for what comes. */
  | 'overloaded'
  /** The stream has ended within a message. */
  | 'cut'
  /** The stream has failed. */
  | 'broken';

export class LinkError extends Error {
  override readonly name = 'LinkError';
  readonly reason: LinkReason;

  constructor(reason: LinkReason, detail: string, cause?: unknown) {
    super(
      `the link between two versions has ended: ${detail}`,
      cause === undefined ? {} : { cause },
    );
    this.reason = reason;
  }
}

/** For what a stream reports. */
export function brokenLink(error: unknown): LinkError {
  return new LinkError('broken', errnoOf(error) ?? 'its stream has failed', error);
}

export interface LinkMessage {
  readonly kind: string;
  readonly head: unknown;
  readonly payload: Buffer;
}

const mark = 0x48_46_4c_31;
const prefixBytes = 13;
const kindForm = /^[a-z][a-z0-9_.:/-]{0,63}$/;
/** Far more than a host with a thousand servers needs. */
export const maxHeadBytes = 67_108_864;
export const maxPayloadBytes = 268_435_456;

/** Mark, lengths, kind and head; the payload follows as it is. Throws a LinkError. */
export function frameStart(kind: string, head: JsonValue, payloadBytes: number): Buffer {
  if (!kindForm.test(kind)) throw new TypeError(`not a kind of message: ${kind}`);
  const text = JSON.stringify(head);
  if (text === undefined) throw new TypeError(`the head of a message of kind ${kind} is not JSON`);
  const headBytes = Buffer.byteLength(text);
  if (headBytes > maxHeadBytes || payloadBytes > maxPayloadBytes) {
    throw new LinkError('too_large', `a message of kind ${kind} is too large`);
  }
  const frame = Buffer.allocUnsafe(prefixBytes + kind.length + headBytes);
  frame.writeUInt32BE(mark, 0);
  frame.writeUInt8(kind.length, 4);
  frame.writeUInt32BE(headBytes, 5);
  frame.writeUInt32BE(payloadBytes, 9);
  frame.write(kind, prefixBytes, 'latin1');
  frame.write(text, prefixBytes + kind.length, 'utf8');
  return frame;
}

interface Lengths {
  readonly kind: number;
  readonly head: number;
  readonly payload: number;
}

const nothing = Buffer.alloc(0);

export class FrameReader {
  readonly #heard: (message: LinkMessage) => void;
  /** What is being read, in this order; undefined: the next frame begins. */
  #lengths: Lengths | undefined;
  #start: { readonly kind: string; readonly head: unknown } | undefined;
  /** A part that comes in pieces, and how much of it is there. */
  #part: Buffer = nothing;
  #filled = 0;
  #isOver = false;

  constructor(heard: (message: LinkMessage) => void) {
    this.#heard = heard;
  }

  /** Nothing of a frame has come that is not whole. */
  get isBetweenFrames(): boolean {
    return this.#lengths === undefined && this.#filled === 0;
  }

  /** Nothing more is reported, also not of a chunk that is being read. */
  stop(): void {
    this.#isOver = true;
    this.#part = nothing;
  }

  /** Reports each message that is whole now. Throws a LinkError, and what the listener throws. */
  add(chunk: Buffer): void {
    let rest = chunk;
    while (!this.#isOver) {
      const wanted = this.#wanted();
      const missing = wanted - this.#filled;
      const whole = this.#whole(rest, wanted);
      rest = rest.subarray(Math.min(rest.length, missing));
      if (whole === undefined) return;
      this.#use(whole);
    }
  }

  #wanted(): number {
    if (this.#lengths === undefined) return prefixBytes;
    const { kind, head, payload } = this.#lengths;
    return this.#start === undefined ? kind + head : payload;
  }

  /** The part, if the chunk has the rest of it. */
  #whole(chunk: Buffer, wanted: number): Buffer | undefined {
    if (this.#filled === 0 && chunk.length >= wanted) return chunk.subarray(0, wanted);
    if (chunk.length === 0) return undefined;
    if (this.#filled === 0) this.#part = Buffer.allocUnsafe(wanted);
    this.#filled += chunk.copy(this.#part, this.#filled);
    if (this.#filled < wanted) return undefined;
    const whole = this.#part;
    this.#part = nothing;
    this.#filled = 0;
    return whole;
  }

  #use(part: Buffer): void {
    if (this.#lengths === undefined) this.#lengths = lengthsIn(part);
    else if (this.#start === undefined) this.#start = startIn(part, this.#lengths.kind);
    else {
      const message = { ...this.#start, payload: part };
      this.#lengths = undefined;
      this.#start = undefined;
      this.#heard(message);
    }
  }
}

function lengthsIn(prefix: Buffer): Lengths {
  if (prefix.readUInt32BE(0) !== mark) throw new LinkError('bad_frame', 'it is out of step');
  const lengths = {
    kind: prefix.readUInt8(4),
    head: prefix.readUInt32BE(5),
    payload: prefix.readUInt32BE(9),
  };
  if (lengths.kind === 0 || lengths.kind > 64 || lengths.head === 0) {
    throw new LinkError('bad_frame', 'a message has impossible lengths');
  }
  if (lengths.head > maxHeadBytes || lengths.payload > maxPayloadBytes) {
    throw new LinkError('too_large', 'a message is too large');
  }
  return lengths;
}

function startIn(part: Buffer, kindBytes: number) {
  const kind = part.toString('latin1', 0, kindBytes);
  if (!kindForm.test(kind)) throw new LinkError('bad_frame', 'a message has an impossible kind');
  const text = part.subarray(kindBytes);
  if (!isUtf8(text)) throw new LinkError('bad_frame', `the head of a ${kind} message is not UTF-8`);
  try {
    return { kind, head: JSON.parse(text.toString('utf8')) as unknown };
  } catch (error) {
    throw new LinkError('bad_frame', `the head of a ${kind} message is not JSON`, error);
  }
}
