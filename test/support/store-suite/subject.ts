// What the suite knows of a store under test: how to open it, what it says it has, and, where that can be
// had, how to make its disk refuse. And one case of the suite: a sentence, and a program that throws when
// the sentence is not true.

import type { Counter } from '../../../src/store/contract/counter.ts';
import type { Durability, Unforgetful } from '../../../src/store/contract/durability.ts';
import type { Log } from '../../../src/store/contract/log.ts';
import type { Queue } from '../../../src/store/contract/queue.ts';
import type { Records } from '../../../src/store/contract/records.ts';
import type { Store } from '../../../src/store/store.ts';
import { ManualClock } from '../manual-clock.ts';

export interface StoreSubject {
  /** With which durability it has each word; what is not named must be refused when it is opened. */
  readonly offers: {
    readonly records: readonly Durability[];
    readonly logs: readonly Durability[];
    readonly queues: readonly Unforgetful[];
    readonly counters: readonly Durability[];
  };
  /** Does it count records, so that `maxEntries` bounds them? (The other three always are.) */
  readonly boundsRecords: boolean;
  /** Are forgetful values in memory only, so that no disk can refuse them? */
  readonly forgetsInMemory?: boolean;
  /** With which durability records tell of their changes. */
  readonly watches?: readonly Durability[];
  /** How long a watcher waits for what it is told; a second if absent. */
  readonly watchMs?: number;
  /** Is what is durable there when the same place is opened again? Only a test double says no. */
  readonly outlivesClosing: boolean;
  /** An empty place for a store: a folder, a database, a bucket. */
  place(): StorePlace;
}

export interface StorePlace {
  /** Opens it, and what an earlier store has left there. */
  open(clock: ManualClock): Store | Promise<Store>;
  /** From now on its disk refuses every write, or takes them again. Left out where that cannot be had. */
  readonly refuse?: (isRefusing: boolean) => void;
}

export interface StoreCase {
  readonly title: string;
  run(subject: StoreSubject): Promise<void>;
}

/** A store on a clock of its own, open for one case. */
export interface Bench {
  readonly place: StorePlace;
  readonly clock: ManualClock;
  readonly store: Store;
}

/** A sentence and what shows it, before it is known which store and which durability. */
export type Sketch<Kind = Durability> = readonly [
  title: string,
  show: (bench: Bench, durability: Kind) => Promise<void>,
];

export function caseOf(title: string, show: (bench: Bench) => Promise<void>): StoreCase {
  return {
    title,
    run: async (subject) => {
      const place = subject.place();
      const clock = new ManualClock();
      await using store = await place.open(clock);
      await show({ place, clock, store });
    },
  };
}

/** The four words, opened with the durability that the case is about. */
export const open = {
  records: ({ store }: Bench, durability: Durability, maxEntries?: number): Records =>
    store.records('things', { durability, ...(maxEntries === undefined ? {} : { maxEntries }) }),
  log: ({ store }: Bench, durability: Durability, maxEntries = 1_000): Log =>
    store.log('things', { durability, maxEntries }),
  queue: ({ store }: Bench, durability: Unforgetful, maxEntries = 1_000): Queue =>
    store.queue('things', { durability, maxEntries }),
  counter: ({ store }: Bench, durability: Durability, maxEntries = 1_000): Counter =>
    store.counter('things', { durability, maxEntries }),
};

/** The store's own refusal, by its reason. */
export const refusal = (reason: string) => ({ name: 'Fault', reason });

/** What is JSON, what is none, what is not UTF-8, and more than a page of anything has. */
export const byteValues: readonly Buffer[] = [
  Buffer.from('{"a":1}'),
  Buffer.alloc(0),
  Buffer.of(0),
  Buffer.from(Array.from({ length: 256 }, (_, at) => 255 - at)),
  Buffer.alloc(100_000, 'text'),
];

export const many = Array.from({ length: 20 }, (_, number) => number);
