// The cursors of the gateway's own lists. A client must treat a cursor as opaque but may send
// anything as one, so each is sealed: only a cursor that this gateway issued, for this very list,
// is accepted; everything else gives undefined, which the caller answers with -32602. A position
// names the last item sent, not only an index: items may be added and removed while a client reads
// the pages. With a stored key, a cursor survives a restart.

import { createHmac, timingSafeEqual } from 'node:crypto';

export type ListName = 'tools' | 'prompts' | 'resources' | 'resourceTemplates' | 'skills';

/** Where a page begins. */
export interface Position {
  readonly server: string;
  /** After the item with this key, as its server names it; null where only `index` decides. */
  readonly after: string | null;
  /** Where in the server's part to continue if that item is gone: its former position. */
  readonly index: number;
}

const sealBytes = 16;
const minKeyBytes = 32;
/** An item with a longer key is found by its position, so that cursors stay short. */
const maxAfterLength = 256;
/** A longer cursor was not issued here, and is not decoded at all. */
const maxLength = 4_096;

export class Cursors {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    if (key.length < minKeyBytes) throw new RangeError(`a key has at least ${minKeyBytes} bytes`);
    this.#key = key;
  }

  write(list: ListName, { server, after, index }: Position): string {
    const isLong = after !== null && after.length > maxAfterLength;
    const parts = isLong ? [server, null, index + 1] : [server, after, index];
    const position = Buffer.from(JSON.stringify(parts));
    return Buffer.concat([this.#seal(list, position), position]).toString('base64url');
  }

  /** Undefined if it was not issued for this list. */
  read(list: ListName, cursor: string): Position | undefined {
    if (cursor.length > maxLength) return undefined;
    const bytes = Buffer.from(cursor, 'base64url');
    // Decoding is lenient, so only the exact spelling that we issue is accepted.
    if (bytes.length <= sealBytes || bytes.toString('base64url') !== cursor) return undefined;
    const position = bytes.subarray(sealBytes);
    const seal = this.#seal(list, position);
    if (!timingSafeEqual(bytes.subarray(0, sealBytes), seal)) return undefined;
    const [server, after, index] = JSON.parse(position.toString()) as SealedParts;
    return { server, after, index };
  }

  /**
   * The name of the list is part of what is sealed, with its end marked: a cursor is valid for one
   * list only.
   */
  #seal(list: ListName, position: Buffer): Buffer {
    const hmac = createHmac('sha256', this.#key).update(`${list}\n`).update(position);
    return hmac.digest().subarray(0, sealBytes);
  }
}

type SealedParts = [server: string, after: string | null, index: number];
