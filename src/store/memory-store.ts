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
import type {
  MovedCount,
  MovedEntry,
  MovedItem,
  MovedRecord,
  Moves,
} from './memory/moved-value.ts';
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

/** Of which word and name a value is, and how long it was to be kept. */
export interface MovedPlace {
  readonly word: Word;
  readonly name: string;
  readonly durability: Durability;
}

export type MovedValue = MovedRecord | MovedEntry | MovedItem | MovedCount;

export interface Moved extends MovedPlace {
  /** The last number that was given there. */
  readonly last: number;
  readonly values: Iterable<MovedValue>;
}

interface Opened extends MovedPlace {
  readonly part: Moves<MovedValue>;
}

export class MemoryStore implements Store {
  readonly #room: MemoryRoom;
  readonly #claims: 'durable' | undefined;
  readonly #opened = new OpenedWords();
  /** One for each that was opened. */
  readonly #parts: Opened[] = [];

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

  /** All that it holds, for the next process: read at once, before anything is changed. */
  *moved(): Iterable<Moved> {
    for (const { part, ...place } of this.#parts) {
      yield { ...place, last: part.last, values: part.moved() };
    }
  }

  /** What the process before has held. `value` must be one of that word. */
  takeOver({ word, name, durability }: MovedPlace, last: number, value?: MovedValue): void {
    this[word](name, { durability } as QueueOptions);
    const opened = this.#parts.find((one) => one.word === word && one.name === name);
    if (opened === undefined) return;
    if (value !== undefined) opened.part.takeOver(value);
    opened.part.last = last;
  }

  health(): StoreHealth {
    return { ok: true };
  }

  async close(): Promise<void> {
    this.#room.close();
    this.#opened.clear();
    this.#parts.length = 0;
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
    return this.#opened.open(word, name, options, () => {
      const part = make();
      const { durability } = options;
      this.#parts.push({ word, name, durability, part: part as unknown as Moves<MovedValue> });
      return part;
    });
  }
}
