// The store on a NATS server, which several processes use together: durable records, logs, queues and counters in
// streams of JetStream (docs/decisions/0028-the-nats-store.md). What need not be durable is kept in the memory of this
// process, but for forgetful records that are to be shared. A change resolves when the server has acknowledged it. A
// server that cannot be reached rejects at once; the store says so until it is there again.

import type { Clock, Random } from '../../kernel/clock.ts';
import { within } from '../../kernel/clock.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import type { NatsPlace } from '../../nats/nats-address.ts';
import { NatsError } from '../../nats/nats-error.ts';
import type { Counter, CounterOptions } from '../contract/counter.ts';
import type { Log, LogOptions } from '../contract/log.ts';
import type { Queue, QueueOptions } from '../contract/queue.ts';
import type { Records, RecordsHeard, RecordsOptions } from '../contract/records.ts';
import { usualEntries } from '../memory/room.ts';
import { MemoryStore } from '../memory-store.ts';
import { OpenedWords } from '../opened-words.ts';
import { Complaints, type StoreProblem } from '../problem.ts';
import type { Store, StoreHealth } from '../store.ts';
import { StoreError, storeClosed } from '../store-error.ts';
import { Behind } from './behind.ts';
import { messageLimit } from './cell-room.ts';
import { sweepCells } from './cell-sweep.ts';
import { Cells } from './cells.ts';
import { Connection } from './connection.ts';
import { type ConnectionPolicy, type Trouble, usualPolicy } from './connection-machine.ts';
import { KeptStream } from './kept-stream.ts';
import { natsCounter } from './nats-counter.ts';
import { natsLog } from './nats-log.ts';
import { natsQueue } from './nats-queue.ts';
import { natsRecords } from './nats-records.ts';
import { openSession } from './session.ts';
import { refusedBefore } from './stream-errors.ts';
import { rememberedStream, type StreamMemory } from './stream-memory.ts';
import type { StreamWord } from './stream-names.ts';
import { StreamWatch } from './stream-watch.ts';
import { ValueParts } from './value-parts.ts';
import type { WordParts } from './word-parts.ts';

export interface NatsStoreOptions {
  readonly clock: Clock;
  readonly report: (problem: StoreProblem) => void;
  /** Unexpected errors. */
  readonly caught: Caught;
  readonly random?: Random;
  readonly policy?: ConnectionPolicy;
  /** Notices streams that were made anew while nothing ran; absent: that goes unnoticed. */
  readonly memory?: StreamMemory | undefined;
  /** For tests: the time that all processes share, in place of the server's clock. */
  readonly sharedTime?: () => number;
}

const sweepEveryMs = 600_000;
/** What is under way when the store is closed has this long. */
const closingMs = 5_000;

export class NatsStore implements Store {
  readonly #place: NatsPlace;
  readonly #options: NatsStoreOptions;
  readonly #connection: Connection;
  readonly #complaints: Complaints;
  readonly #memory: MemoryStore;
  readonly #opened = new OpenedWords();
  readonly #erasing = new Behind();
  readonly #parts: WordParts;
  /** Bound: one for each name in the source. */
  readonly #swept = new Set<Cells>();
  /** By stream; bound: one for each name in the source. */
  readonly #watches = new Map<KeptStream, StreamWatch>();
  /** What is under way, until it has ended; at most what callers and sweeps wait for. */
  readonly #running = new Set<Promise<unknown>>();
  #sweeping: Disposable;
  #isSweeping = false;
  /** What is missing, by stream; bound: one for each name in the source. */
  readonly #damage = new Map<KeptStream, string>();
  #closing: Promise<void> | undefined;

  constructor(place: NatsPlace, options: NatsStoreOptions) {
    const { clock, report, caught, random = Math.random, policy = usualPolicy } = options;
    this.#place = place;
    this.#options = options;
    this.#complaints = new Complaints(report);
    this.#memory = new MemoryStore({ clock });
    this.#connection = new Connection({
      ...{ clock, random, policy, caught },
      open: (signal) => openSession({ ...options, place }, signal),
      report: (detail) => this.#say('refused', detail),
      recovered: () =>
        this.#complaints.recovered(place.url, 'is connected, and keeps what it is given'),
      troubleOf: (error) => troubleOf(error, place.url),
    });
    this.#parts = {
      clock,
      random,
      during: (work) => this.#during(work),
      changing: (work) =>
        this.#during(work).catch((error: unknown) => {
          throw refusedBefore(error);
        }),
      unreadable: (name, count) => this.#unreadable(name, count),
      damagedOne: (name) => this.#damagedOne(name),
      full: (name) => this.#full(name),
      watch: (stream, prefix, heard) => this.#watch(stream, prefix, heard),
    };
    this.#sweeping = this.#sweepLater();
  }

  records(name: string, options: RecordsOptions): Records {
    const { durability, shared = false, maxEntries = usualEntries } = options;
    return this.#opened.open('records', name, options, () => {
      const isHere = durability === 'process' || (durability === 'forgetful' && !shared);
      if (isHere) return this.#memory.records(name, options);
      const isForgetful = durability === 'forgetful';
      const limit = isForgetful ? maxEntries : messageLimit(maxEntries);
      const cells = this.#cells('r', name, limit, isForgetful);
      return natsRecords(this.#parts, cells, name, { ...options, maxEntries });
    });
  }

  log(name: string, options: LogOptions): Log {
    const { durability, maxEntries = usualEntries } = options;
    return this.#opened.open('log', name, options, () => {
      if (durability !== 'durable') return this.#memory.log(name, options);
      return natsLog(this.#parts, this.#stream('l', name, maxEntries), name);
    });
  }

  queue(name: string, options: QueueOptions): Queue {
    const { durability, maxEntries = usualEntries } = options;
    return this.#opened.open('queue', name, options, () => {
      if (durability !== 'durable') return this.#memory.queue(name, options);
      const cells = this.#cells('q', name, messageLimit(maxEntries));
      return natsQueue(this.#parts, cells, name, maxEntries);
    });
  }

  counter(name: string, options: CounterOptions): Counter {
    const { durability, maxEntries = usualEntries } = options;
    return this.#opened.open('counter', name, options, () => {
      if (durability !== 'durable') return this.#memory.counter(name, options);
      const cells = this.#cells('n', name, messageLimit(maxEntries));
      return natsCounter(this.#parts, cells, name, { ...options, maxEntries });
    });
  }

  health(): StoreHealth {
    const { problem } = this.#connection;
    if (problem !== undefined) return { ok: false, problem };
    const [damage] = this.#damage.values();
    return damage === undefined ? { ok: true } : { ok: false, isReached: true, problem: damage };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#sweeping[Symbol.dispose]();
    for (const watch of this.#watches.values()) watch[Symbol.dispose]();
    // What was asked before is still done.
    await within(this.#options.clock, closingMs, Promise.allSettled(this.#running));
    await this.#connection.close();
    await this.#memory.close();
  }

  async #during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw storeClosed();
    const running = work();
    const ended = running.catch(ignored).finally(() => this.#running.delete(ended));
    this.#running.add(ended);
    return await running;
  }

  /** What is not done now, a sweep does later. */
  #failedBehind(error: unknown): void {
    const isKnown = error instanceof StoreError || error instanceof NatsError;
    if (!isKnown) this.#options.caught(error);
  }

  #stream(word: StreamWord, name: string, maxMessages: number, isForgetful = false): KeptStream {
    const { url, namespace } = this.#place;
    const { memory } = this.#options;
    const stream: KeptStream = new KeptStream({
      spec: { namespace, word, name, maxMessages, isForgetful },
      session: () => this.#connection.session(),
      lost: (streamName, what) => this.#lost(stream, streamName, what),
      restored: (streamName) => this.#restored(stream, streamName),
      remembered: async (streamName, incarnation) =>
        memory === undefined
          ? incarnation
          : await rememberedStream(memory, `${url}/${streamName}`, incarnation),
    });
    return stream;
  }

  #cells(word: StreamWord, name: string, limit: number, isForgetful = false): Cells {
    const stream = this.#stream(word, name, limit, isForgetful);
    const parts = this.#stream('p', `${word}-${name}`, -1, isForgetful);
    const behind = (work: () => Promise<void>) =>
      this.#erasing.run(
        () => this.#during(work),
        (error) => this.#failedBehind(error),
      );
    const cells = new Cells(stream, new ValueParts(parts), behind);
    if (!isForgetful) this.#swept.add(cells);
    return cells;
  }

  #watch(stream: KeptStream, prefix: string, heard: RecordsHeard): Disposable {
    if (this.#closing !== undefined) return { [Symbol.dispose]: () => {} };
    const { clock, caught } = this.#options;
    const known = this.#watches.get(stream);
    const refused = (why: string) => this.#unwatched(stream.name, why);
    const made = () =>
      new StreamWatch({ connection: this.#connection, stream, clock, caught, refused });
    const watch = known ?? made();
    this.#watches.set(stream, watch);
    return watch.add(prefix, heard);
  }

  #unwatched(stream: string, why: string): void {
    const { url } = this.#place;
    const detail = `changes of ${stream} at ${url} by others are noticed late or not at all: ${why}; ${remedies.not_allowed}`;
    this.#complaints.say({ kind: 'refused', file: url, code: null, detail }, `watch ${stream}`);
  }

  #sweepLater(): Disposable {
    const sweep = () => {
      this.#sweeping = this.#sweepLater();
      if (this.#isSweeping) return;
      this.#isSweeping = true;
      this.#during(() => this.#sweep())
        .catch((error: unknown) => this.#failedBehind(error))
        .finally(() => {
          this.#isSweeping = false;
        })
        .catch(this.#options.caught);
    };
    return this.#options.clock.after(sweepEveryMs, sweep, true);
  }

  async #sweep(): Promise<void> {
    if (this.#connection.problem !== undefined) return;
    await (await this.#connection.session()).measure();
    for (const cells of this.#swept) if (await cells.stream.isThere()) await sweepCells(cells);
  }

  #lost(kept: KeptStream, stream: string, what: string): void {
    const folder = this.#options.memory?.folder;
    const remedy =
      folder === undefined ? 'start Holdfast again' : `remove ${folder}, and start Holdfast again,`;
    const problem = `the stream ${stream} at ${this.#place.url} ${what}, so what was kept in it is missing: restore it, or ${remedy} to go on without it`;
    this.#damage.set(kept, problem);
    this.#say('damaged', problem);
  }

  #restored(kept: KeptStream, stream: string): void {
    this.#damage.delete(kept);
    const place = `the stream ${stream} at ${this.#place.url}`;
    this.#complaints.recovered(place, 'is there again, with what was kept in it');
  }

  #unreadable(name: string, count: number): void {
    const records = `${count} ${count === 1 ? 'record' : 'records'} of "${name}"`;
    this.#say(
      'damaged',
      `${records} at ${this.#place.url} cannot be read and count as absent: make them anew, or restore the stream`,
    );
  }

  #full(name: string): void {
    const detail = `there is no room for another value of "${name}" at ${this.#place.url}, so new ones are not kept there: it is free again when old ones are over; see docs/scaling.md for how many there can be`;
    this.#say('refused', detail);
  }

  #damagedOne(name: string): void {
    const detail = `a value of "${name}" at ${this.#place.url} is damaged, or is none of ours, and is not used: restore the stream, or use another namespace in the address`;
    this.#say('damaged', detail);
  }

  #say(kind: 'damaged' | 'refused', detail: string): void {
    this.#complaints.say({ kind, file: this.#place.url, code: null, detail }, detail);
  }
}

const remedies: Partial<Readonly<Record<NatsError['reason'], string>>> = {
  unauthorized: 'check the user and the password in "store"',
  not_allowed:
    'let this user use the subjects "$JS.API.>", "hfs.>" and "hfr.>", and "_INBOX.>" for answers',
  not_nats: 'check the address in "store"',
  unsupported: 'see the config of the server (JetStream needs nats-server 2.9 or newer)',
};

/** One line for people; the address has no credential in it. */
function troubleOf(error: NatsError, url: string): Trouble {
  const remedy = remedies[error.reason] ?? 'check that it runs; a gateway tries again by itself';
  return {
    problem: `the store at ${url} cannot be used: ${error.message}; ${remedy}`,
    isPermanent: error.isPermanent,
  };
}
