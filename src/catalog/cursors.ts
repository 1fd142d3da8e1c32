// The cursors of the gateway's own lists. A client must treat a cursor as opaque but may send
// anything as one, so each is hidden: only a cursor that this gateway issued, for this very list and
// client, is accepted, and it shows nothing of the servers; everything else gives undefined, which the caller answers with -32602. A position
// names the last item sent, not only an index: items may be added and removed while a client reads
// the pages. With a stored key, a cursor survives a restart.

import { HiddenNames } from '../kernel/hidden-name.ts';

export type ListName = 'tools' | 'prompts' | 'resources' | 'resourceTemplates' | 'skills';

/** Where a page begins. */
export interface Position {
  readonly server: string;
  /** After the item with this key, as its server names it; null where only `index` decides. */
  readonly after: string | null;
  /** Where in the server's part to continue if that item is gone: its former position. */
  readonly index: number;
}

/** An item with a longer key is found by its position, so that cursors stay short. */
const maxAfterLength = 256;
/** A longer cursor was not issued here, and is not decoded at all. */
const maxLength = 4_096;

export class Cursors {
  readonly #names: HiddenNames;

  constructor(key: Buffer) {
    this.#names = new HiddenNames(key);
  }

  /** Those of one owner: a cursor of another means nothing. */
  of(owner: string): OwnCursors {
    return new OwnCursors(this.#names, owner);
  }
}

export class OwnCursors {
  readonly #names: HiddenNames;
  readonly #owner: string;

  constructor(names: HiddenNames, owner: string) {
    this.#names = names;
    this.#owner = owner;
  }

  write(list: ListName, { server, after, index }: Position): string {
    const isLong = after !== null && after.length > maxAfterLength;
    const parts = isLong ? [server, null, index + 1] : [server, after, index];
    return this.#names.hide(['cursor', this.#owner, list], JSON.stringify(parts));
  }

  /** Undefined if it was not issued for this list and owner. */
  read(list: ListName, cursor: string): Position | undefined {
    if (cursor.length > maxLength) return undefined;
    const text = this.#names.read(['cursor', this.#owner, list], cursor);
    if (text === undefined) return undefined;
    const [server, after, index] = JSON.parse(text) as HiddenParts;
    return { server, after, index };
  }
}

type HiddenParts = [server: string, after: string | null, index: number];
