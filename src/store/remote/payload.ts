// The texts and bytes of a message between two stores: they are one row of bytes behind its head, which says how long
// each is. So a value of megabytes is neither encoded nor escaped.

import { isBytes } from '../contract/bytes.ts';
import type { StoredText } from '../sqlite/operation.ts';

/** In the head, in the place of a text. */
export interface PayloadPart {
  readonly kind: 'text' | 'bytes';
  readonly length: number;
}

export class PayloadWriter {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(text: StoredText): { readonly kind: 'text' | 'bytes'; readonly length: number } {
    const bytes = isBytes(text) ? text : Buffer.from(text);
    this.#parts.push(bytes);
    this.#length += bytes.length;
    return { kind: isBytes(text) ? 'bytes' : 'text', length: bytes.length };
  }

  get payload(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

export class PayloadReader {
  readonly #payload: Buffer;
  #at = 0;

  constructor(payload: Buffer) {
    this.#payload = payload;
  }

  /** Throws a TypeError if there is no such part. */
  take(part: unknown): StoredText {
    const { kind, length } = (part ?? {}) as Partial<PayloadPart>;
    const end = this.#at + Number(length);
    if (!Number.isSafeInteger(length) || Number(length) < 0 || end > this.#payload.length) {
      throw new TypeError('a message of a store has other bytes than it says');
    }
    const bytes = this.#payload.subarray(this.#at, end);
    this.#at = end;
    if (kind === 'text') return bytes.toString('utf8');
    if (kind !== 'bytes') throw new TypeError('a message of a store has a part of no known kind');
    // Memory of its own: it is moved to the thread of the database, or kept.
    const own = Buffer.allocUnsafeSlow(bytes.length);
    bytes.copy(own);
    return own;
  }

  /** Throws a TypeError if something is left. */
  end(): void {
    if (this.#at !== this.#payload.length) {
      throw new TypeError('a message of a store has more bytes than it says');
    }
  }
}
