// The store in memory: everything is lost when the process ends. It has records, logs, queues and
// counters (`memory/`), but nothing durable, which it refuses when it is opened. It is bounded in
// bytes: forgetful values are dropped to make room, the one put longest ago first; others are
// rejected when there is no room. It uses monotonic time, because nothing outlives the process.

import type { Clock } from '../kernel/clock.ts';
import type { Counter, CounterOptions } from './contract/counter.ts';
import type { Durability } from './contract/durability.ts';
import type { Log, LogOptions } from './contract/log.ts';
import type { Queue, QueueOptions } from './contract/queue.ts';
import type { Records, RecordsOptions } from './contract/records.ts';
import { MemoryCounter } from './memory/memory-counter.ts';
import { MemoryLog } from './memory/memory-log.ts';
import { MemoryQueue } from './memory/memory-queue.ts';
import { MemoryRecords } from './memory/memory-records.ts';
import { MemoryRoom } from './memory/room.ts';
import { OpenedWords } from './opened-words.ts';
import { assertStoreName, type Store, type StoreHealth } from './store.ts';
import { unsupported } from './store-error.ts';

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly maxBytes?: number;
  /** For tests of code that needs durable data: it is accepted, and lost when the process ends. */
  readonly claims?: 'durable';
}

type Word = 'records' | 'log' | 'queue' | 'counter';

export class MemoryStore implements Store {
  readonly #room: MemoryRoom;
  readonly #claims: 'durable' | undefined;
  readonly #opened = new OpenedWords();

  constructor({ clock, maxBytes = 67_108_864, claims }: MemoryStoreOptions) {
    this.#room = new MemoryRoom(clock, maxBytes);
    this.#claims = claims;
  }

  records(name: string, options: RecordsOptions): Records {
    return this.#open('records', name, options, () => {
      return new MemoryRecords(this.#room, name, options);
    });
  }

  log(name: string, options: LogOptions): Log {
    return this.#open('log', name, options, () => new MemoryLog(this.#room, name, options));
  }

  queue(name: string, options: QueueOptions): Queue {
    return this.#open('queue', name, options, () => new MemoryQueue(this.#room, name, options));
  }

  counter(name: string, options: CounterOptions): Counter {
    return this.#open('counter', name, options, () => {
      return new MemoryCounter(this.#room, name, options);
    });
  }

  health(): StoreHealth {
    return { ok: true };
  }

  async close(): Promise<void> {
    this.#room.close();
    this.#opened.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #open<T>(
    word: Word,
    name: string,
    options: { readonly durability: Durability },
    make: () => T,
  ): T {
    assertStoreName(name);
    if (options.durability === 'durable' && this.#claims !== 'durable') {
      throw unsupported('a store in memory', `durable ${word}`);
    }
    return this.#opened.open(word, name, options, make);
  }
}
