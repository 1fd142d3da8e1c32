// Names that are given to somebody who must not read them, and come back: the handle of a task, the cursor
// of a list. The same text has the same name every time, because clients compare names, and a name is
// valid only for the purpose and the owner it was made for. Built as SIV (RFC 5297): the tag over purpose
// and text is the start of the key stream, so that two texts share one only if they are the same.

import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';

const cipher = 'aes-256-ctr';
const tagBytes = 16;
const minKeyBytes = 32;

export class HiddenNames {
  readonly #tagKey: Buffer;
  readonly #cipherKey: Buffer;

  constructor(key: Buffer) {
    if (key.length < minKeyBytes) throw new RangeError(`a key has at least ${minKeyBytes} bytes`);
    this.#tagKey = derived(key, 'tag of a hidden name');
    this.#cipherKey = derived(key, 'text of a hidden name');
  }

  hide(purpose: readonly string[], text: string): string {
    const bytes = Buffer.from(text);
    const tag = this.#tag(purpose, bytes);
    const hiding = createCipheriv(cipher, this.#cipherKey, tag);
    return Buffer.concat([tag, hiding.update(bytes), hiding.final()]).toString('base64url');
  }

  /** Undefined for anything that was not hidden here for this purpose. */
  read(purpose: readonly string[], hidden: string): string | undefined {
    const bytes = Buffer.from(hidden, 'base64url');
    // Decoding is lenient, so only the exact spelling that we issue is accepted.
    if (bytes.length < tagBytes || bytes.toString('base64url') !== hidden) return undefined;
    const tag = bytes.subarray(0, tagBytes);
    const reading = createDecipheriv(cipher, this.#cipherKey, tag);
    const text = Buffer.concat([reading.update(bytes.subarray(tagBytes)), reading.final()]);
    return timingSafeEqual(tag, this.#tag(purpose, text)) ? text.toString() : undefined;
  }

  /** As JSON the purpose has an end: no other words together make the same. */
  #tag(purpose: readonly string[], text: Buffer): Buffer {
    const mac = createHmac('sha256', this.#tagKey).update(JSON.stringify(purpose)).update(text);
    return mac.digest().subarray(0, tagBytes);
  }
}

function derived(key: Buffer, use: string): Buffer {
  return createHmac('sha256', key).update(use).digest();
}
