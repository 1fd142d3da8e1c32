// A store that is opened later: at its first use, or when the given promise resolves. What is asked of it
// waits until it is there. It offers everything that the opened one offers; what that one does not have is
// refused at the first use. Bytes are taken, which the opened one has to do as well.

import { ignored } from '../kernel/contain.ts';
import type { Counter, CounterOptions } from './contract/counter.ts';
import type { Log, LogOptions } from './contract/log.ts';
import type { Queue, QueueOptions } from './contract/queue.ts';
import type { Records, RecordsOptions } from './contract/records.ts';
import { OpenedWords } from './opened-words.ts';
import type { Store, StoreHealth } from './store.ts';
import { storeClosed } from './store-error.ts';

export class DeferredStore<Opened extends Store = Store> implements Store {
  #open: () => Promise<Opened>;
  #opening: Promise<Opened> | undefined;
  readonly #parts = new OpenedWords();
  #opened: Opened | undefined;
  /** What was asked last, until it is handed on. */
  #last: Promise<unknown> | undefined;

  #isClosed = false;

  /** What `open` returns must not reject. */
  constructor(open: () => Promise<Opened>, latest: Promise<unknown> = Promise.resolve()) {
    this.#open = open;
    latest.then(() => (this.#isClosed ? undefined : this.#begin())).catch(ignored);
  }

  /** Opens it, if it is not open yet. */
  whenOpen(): Promise<Opened> {
    return this.#begin();
  }

  /** False: it is open, or being opened. Otherwise it is opened now, in this way instead. */
  openInstead(open: () => Promise<Opened>): boolean {
    if (this.#opening !== undefined || this.#isClosed) return false;
    this.#open = open;
    this.#begin().catch(ignored);
    return true;
  }

  #begin(): Promise<Opened> {
    if (this.#isClosed && this.#opening === undefined) return Promise.reject(storeClosed());
    this.#opening ??= this.#openNow();
    return this.#opening;
  }

  async #openNow(): Promise<Opened> {
    this.#opened = await this.#open();
    return this.#opened;
  }

  records(name: string, options: RecordsOptions): Records {
    return this.#parts.open('records', name, options, () => this.#records(name, options));
  }

  #records(name: string, options: RecordsOptions): Records {
    const records = this.#part((store) => store.records(name, options));
    return {
      takesBytes: true,
      get: async (key) => (await records()).get(key),
      put: async (key, value, put) => (await records()).put(key, value, put),
      putIfAbsent: async (key, value, put) => (await records()).putIfAbsent(key, value, put),
      compareAndSet: async (key, version, value, put) =>
        (await records()).compareAndSet(key, version, value, put),
      remove: async (key) => (await records()).remove(key),
      entries: async (prefix) => (await records()).entries(prefix),
      isWhole: async () => (await records()).isWhole(),
    };
  }

  log(name: string, options: LogOptions): Log {
    return this.#parts.open('log', name, options, () => this.#log(name, options));
  }

  #log(name: string, options: LogOptions): Log {
    const log = this.#part((store) => store.log(name, options));
    return {
      takesBytes: true,
      append: async (value) => (await log()).append(value),
      read: async (read) => (await log()).read(read),
      trim: async (before) => (await log()).trim(before),
      range: async () => (await log()).range(),
    };
  }

  queue(name: string, options: QueueOptions): Queue {
    return this.#parts.open('queue', name, options, () => this.#queue(name, options));
  }

  #queue(name: string, options: QueueOptions): Queue {
    const queue = this.#part((store) => store.queue(name, options));
    return {
      put: async (value, put) => (await queue()).put(value, put),
      claim: async (leaseMs) => (await queue()).claim(leaseMs),
      ack: async (claimId) => (await queue()).ack(claimId),
      giveBack: async (claimId, put) => (await queue()).giveBack(claimId, put),
      extend: async (claimId, leaseMs) => (await queue()).extend(claimId, leaseMs),
      size: async () => (await queue()).size(),
    };
  }

  counter(name: string, options: CounterOptions): Counter {
    return this.#parts.open('counter', name, options, () => this.#counter(name, options));
  }

  #counter(name: string, options: CounterOptions): Counter {
    const counter = this.#part((store) => store.counter(name, options));
    return {
      take: async (key, amount, window) => (await counter()).take(key, amount, window),
      reset: async (key) => (await counter()).reset(key),
    };
  }

  health(): StoreHealth {
    return this.#opened?.health() ?? { ok: true };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const store = await this.#opening;
    // What was asked before is handed on before.
    await this.#last;
    await store?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #part<T>(open: (store: Opened) => T): () => Promise<T> {
    return () => {
      const part = this.#begin().then(open);
      this.#last = part.catch(ignored);
      return part;
    };
  }
}
