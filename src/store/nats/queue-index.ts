// What a process knows of the items of a queue: when each can be claimed, and in which order they were put. It is
// brought up to date from the stream before it is used; what is wrong in it is found by the server, which takes a
// change only for the message that it names.

import type { Cells } from './cells.ts';
import { cellHeaders } from './cells.ts';
import type { StoredMessage } from './stored-message.ts';

export interface IndexedItem {
  readonly id: string;
  /** The order in which they were put. */
  readonly born: number;
  readonly sequence: number;
  /** In the shared time: when it can be claimed; while it is claimed, the end of the lease. */
  readonly freeAt: number;
}

export const itemHeaders = {
  id: 'Hf-Item',
  born: 'Hf-Born',
  attempt: 'Hf-Attempt',
  freeAt: 'Hf-Free',
  claimed: 'Hf-Claimed',
} as const;

const pageSize = 4_096;
/** After this time the stream may have forgotten what was acknowledged. */
const trustedMs = 300_000;

export class QueueIndex {
  readonly #cells: Cells;
  /** By the token of the subject; one for each item that is not acknowledged, which the queue bounds. */
  readonly #items = new Map<string, IndexedItem>();
  #incarnation = '';
  #position = 0;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  get size(): number {
    return this.#items.size;
  }

  /** Rejects with a StoreError. */
  async refresh(): Promise<void> {
    const { stream } = this.#cells;
    const { last } = await stream.state();
    const { session, incarnation } = await stream.open();
    const now = session.now();
    const isOld = incarnation !== this.#incarnation || now - this.#readAt > trustedMs;
    if (isOld) this.#forget(incarnation);
    this.#readAt = now;
    while (this.#position < last) {
      const from = this.#position + 1;
      const { messages, isEnd } = await stream.page({ from, limit: pageSize, isHeadersOnly: true });
      for (const message of messages) this.#take(message);
      this.#position = Math.max(this.#position, messages.at(-1)?.sequence ?? last);
      if (isEnd) this.#position = Math.max(this.#position, last);
    }
  }

  /** The one that was put first of those that can be claimed. */
  firstFree(now: number): IndexedItem | undefined {
    let first: IndexedItem | undefined;
    for (const item of this.#items.values()) {
      if (item.freeAt <= now && (first === undefined || item.born < first.born)) first = item;
    }
    return first;
  }

  /** It is another one than we know, or gone. */
  drop({ id }: IndexedItem): void {
    for (const [token, item] of this.#items) if (item.id === id) this.#items.delete(token);
  }

  #forget(incarnation: string): void {
    this.#items.clear();
    this.#incarnation = incarnation;
    this.#position = 0;
  }

  #take({ token, headers, sequence }: StoredMessage): void {
    const id = headers.get(itemHeaders.id);
    if (headers.has(cellHeaders.removed) || id === undefined) {
      this.#items.delete(token);
      return;
    }
    const born = Number(headers.get(itemHeaders.born) ?? sequence);
    const freeAt = Number(headers.get(itemHeaders.freeAt) ?? 0);
    this.#items.set(token, { id, born, sequence, freeAt });
  }
}
