// Idempotency keys in a store whose contents others may read: a key and what it was used for are stored as keyed hashes
// only, so that nobody who has not the secret can see them, or find out by guessing. What is stored under them is encrypted
// by whoever opens the store.

import { createHmac } from 'node:crypto';
import type { KeyedRecord, KeyedStore } from './idempotency.ts';
import type { KeyedWait } from './keyed-wait.ts';

export interface MarkedKeysPlace {
  readonly store: KeyedStore;
  readonly secret: Buffer;
}

export class MarkedKeys implements KeyedStore {
  readonly #open: () => Promise<MarkedKeysPlace>;
  #opened: Promise<MarkedKeysPlace> | undefined;

  /** `open` is called with the first key that is used, and again after it has failed. */
  constructor(open: () => Promise<MarkedKeysPlace>) {
    this.#open = open;
  }

  async claim(
    slot: string,
    record: KeyedRecord,
    ttlMs: number,
    wait?: KeyedWait,
  ): Promise<KeyedRecord | undefined> {
    const { store, secret } = await this.#place();
    const { fingerprint } = record;
    const marked = { ...record, fingerprint: markOf(secret, 'request', fingerprint) };
    const found = await store.claim(markOf(secret, 'slot', slot), marked, ttlMs, wait);
    if (found?.fingerprint !== marked.fingerprint) return found;
    return { ...found, fingerprint };
  }

  async put(slot: string, record: KeyedRecord, ttlMs: number): Promise<void> {
    const { store, secret } = await this.#place();
    const fingerprint = markOf(secret, 'request', record.fingerprint);
    await store.put(markOf(secret, 'slot', slot), { ...record, fingerprint }, ttlMs);
  }

  async free(slot: string): Promise<void> {
    const { store, secret } = await this.#place();
    await store.free(markOf(secret, 'slot', slot));
  }

  async close(): Promise<void> {
    const { store } = (await this.#opened?.catch(() => undefined)) ?? {};
    await store?.close?.();
  }

  #place(): Promise<MarkedKeysPlace> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }
}

function markOf(secret: Buffer, what: 'slot' | 'request', text: string): string {
  return createHmac('sha256', secret).update(`idempotency ${what} ${text}`).digest('base64url');
}
