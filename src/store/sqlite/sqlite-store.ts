// The durable store of an instance: records, logs, queues and counters in one SQLite file, state.db,
// which exactly one process uses. What need not be durable is kept in memory. A change resolves when it
// is on the disk; a disk that refuses rejects the change, and the store says so until one succeeds.
// In a rollout the store is handed over: the next process opens the database as soon as this one has closed it, and
// from then on everything that is asked here is asked there, what is in memory included. Nothing is kept here that could
// answer instead: reads are operations like changes, and what the tables count in memory ends with their connection.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import type { Counter, CounterOptions } from '../contract/counter.ts';
import type { Log, LogOptions } from '../contract/log.ts';
import type { Queue, QueueOptions } from '../contract/queue.ts';
import type { Records, RecordsOptions } from '../contract/records.ts';
import { type MemoryPlace, memoryOutcome } from '../memory/memory-operations.ts';
import { usualEntries } from '../memory/room.ts';
import { MemoryStore } from '../memory-store.ts';
import { OpenedWords } from '../opened-words.ts';
import { Complaints, type StoreProblem } from '../problem.ts';
import type { HeardMemory } from '../remote/memory-message.ts';
import { RemoteBackend } from '../remote/remote-backend.ts';
import type { StoreLink } from '../remote/store-link.ts';
import type { Store, StoreHealth } from '../store.ts';
import { StoreError } from '../store-error.ts';
import { type Backend, Gatherer } from './backend.ts';
import type { Findings } from './open-database.ts';
import type { Damage, StoreOperation, StoreOutcome } from './operation.ts';
import { remedyOf } from './sqlite-remedy.ts';
import {
  sqliteCounter,
  sqliteLog,
  sqliteQueue,
  sqliteRecords,
  type WordParts,
} from './sqlite-words.ts';

export interface SqliteStoreOptions {
  readonly backend: Backend;
  readonly file: string;
  readonly clock: Clock;
  readonly report: (problem: StoreProblem) => void;
  /** What was found when the file was opened. */
  readonly findings: Findings;
  /** Of a store without a database, whose backend uses it, too. */
  readonly memory?: MemoryStore;
  /** Why there is no database, and whether nothing can be missing because of that. */
  readonly missing?: { readonly problem: string | undefined; readonly isWhole: boolean };
  /** The next process has everything from the beginning. */
  readonly isHandedOver?: boolean;
  /** What the process before has held in memory. */
  readonly former?: readonly HeardMemory[];
}

const sweepEveryMs = 600_000;

export class SqliteStore implements Store {
  readonly #gatherer: Gatherer;
  readonly #memory: MemoryPlace;
  /** What is kept in memory is there as well. */
  #isHandedOver = false;
  readonly #complaints: Complaints;
  readonly #file: string;
  readonly #parts: WordParts;
  readonly #without: string | undefined;
  readonly #hasDatabase: boolean;
  readonly #opened = new OpenedWords();
  /** Something was found damaged. What it was is not known for certain: anything may be missing. */
  #isWhole: boolean;
  readonly #clock: Clock;
  #sweeping: Disposable;
  #problem: string | undefined;
  /** What was found damaged first, and what to do. */
  #damage: string | undefined;

  constructor(options: SqliteStoreOptions) {
    const { backend, file, clock, report, findings, missing } = options;
    this.#gatherer = new Gatherer(backend);
    this.#memory = { memory: options.memory ?? new MemoryStore({ clock }), clock };
    this.#without = missing?.problem;
    this.#hasDatabase = missing === undefined;
    this.#isHandedOver = options.isHandedOver ?? false;
    this.#complaints = new Complaints(report);
    this.#file = file;
    this.#clock = clock;
    const isMissing = missing?.isWhole === false;
    this.#isWhole = findings.setAside.length === 0 && findings.lossNote === null && !isMissing;
    this.#parts = {
      clock,
      run: (operation) => this.#run(operation),
    };
    this.#tell(findings);
    // Before anybody can ask for anything.
    for (const moved of options.former ?? []) this.#takeOver(moved);
    this.#sweeping = this.#scheduleSweep();
  }

  records(name: string, options: RecordsOptions): Records {
    return this.#opened.open('records', name, options, () => {
      const { durability } = options;
      if (durability === 'durable') return sqliteRecords(this.#parts, name, options);
      this.#memory.memory.records(name, options);
      return sqliteRecords(this.#inMemory(durability), name, withoutShape(options));
    });
  }

  log(name: string, options: LogOptions): Log {
    return this.#opened.open('log', name, options, () => {
      const { durability } = options;
      if (durability === 'durable') return sqliteLog(this.#parts, name, options);
      this.#memory.memory.log(name, options);
      return sqliteLog(this.#inMemory(durability), name, options);
    });
  }

  queue(name: string, options: QueueOptions): Queue {
    return this.#opened.open('queue', name, options, () => {
      const { durability } = options;
      if (durability === 'durable') return sqliteQueue(this.#parts, name, options);
      this.#memory.memory.queue(name, options);
      return sqliteQueue(this.#inMemory(durability), name, options);
    });
  }

  counter(name: string, options: CounterOptions): Counter {
    return this.#opened.open('counter', name, options, () => {
      const { durability } = options;
      if (durability === 'durable') return sqliteCounter(this.#parts, name, options);
      this.#memory.memory.counter(name, options);
      return sqliteCounter(this.#inMemory(durability), name, options);
    });
  }

  health(): StoreHealth {
    const problem = this.#problem ?? this.#damage ?? this.#without;
    return problem === undefined ? { ok: true } : { ok: false, problem };
  }

  async close(): Promise<void> {
    this.#sweeping[Symbol.dispose]();
    await this.#gatherer.close();
    await this.#memory.memory.close();
  }

  /**
   * What is under way ends and is acknowledged, the database is closed, and the next process is told. From then on
   * everything goes to it: what is asked meanwhile waits. Once only.
   */
  async handOver(link: StoreLink): Promise<void> {
    if (this.#isHandedOver) throw new TypeError('a store is handed over once');
    const remote = new RemoteBackend(link);
    // From this turn on nothing changes in memory: what is asked waits with the rest.
    this.#isHandedOver = true;
    this.#sweeping[Symbol.dispose]();
    const { memory } = this.#memory;
    await this.#gatherer.handOver(remote, async () => {
      remote.tellMemory(memory.moved());
      remote.tellReleased();
      await memory.close();
    });
  }

  /** One of this process, or of the one before. Rejects with a StoreError if it was not run. */
  async operate(operation: StoreOperation): Promise<StoreOutcome> {
    const outcome = await this.#outcome(operation);
    for (const damage of outcome.damaged ?? []) this.#foundDamaged(damage);
    return outcome;
  }

  #outcome(operation: StoreOperation): Promise<StoreOutcome> {
    const { durability, action } = operation;
    // After that, only the process that has the database knows.
    if (this.#isHandedOver) return this.#gatherer.run(operation);
    if (durability !== undefined) return memoryOutcome(this.#memory, operation);
    if (action === 'isWhole') return Promise.resolve({ ok: true, value: this.#isWhole });
    return this.#gatherer.run(operation);
  }

  #inMemory(memory: 'process' | 'forgetful'): WordParts {
    return { ...this.#parts, memory };
  }

  /** A former process without a database has kept in memory what belongs into this one. */
  #takeOver({ place, last, values }: HeardMemory): void {
    const { memory } = this.#memory;
    if (place.durability !== 'durable' || !this.#hasDatabase) {
      memory.takeOver(place, last);
      for (const value of values) memory.takeOver(place, last, value);
      return;
    }
    if (place.word !== 'records') return;
    const now = this.#clock.wallNow();
    const of = { word: 'records', action: 'putIfAbsent', name: place.name, now } as const;
    for (const value of values) {
      if (!('version' in value)) continue;
      const { key, own: text, leftMs } = value;
      const expiresAt = leftMs === null ? null : now + leftMs;
      // A disk that refuses is reported.
      this.#run({ ...of, key, text, expiresAt, maxEntries: usualEntries }).catch(ignored);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #scheduleSweep(): Disposable {
    const sweep = () => {
      this.#sweeping = this.#scheduleSweep();
      const now = this.#clock.wallNow();
      // A disk that refuses has been reported.
      this.#run({ word: 'records', action: 'sweep', name: '', now }).catch(ignored);
    };
    return this.#clock.after(sweepEveryMs, sweep, true);
  }

  async #run(operation: StoreOperation): Promise<unknown> {
    const outcome = await this.operate(operation).catch((error: unknown) => {
      // The thread of the database has ended.
      if (error instanceof StoreError && error.reason === 'not_kept') this.#failed(error.message);
      throw error;
    });
    if (outcome.ok) {
      if (outcome.isStored) this.#works();
      return outcome.value;
    }
    throw this.#refusal(outcome);
  }

  #refusal({ reason, detail, code }: Extract<StoreOutcome, { readonly ok: false }>): StoreError {
    if (reason !== 'not_kept') return new StoreError(reason, detail);
    if (this.#isHandedOver && code === undefined) {
      this.#failed(detail);
      return new StoreError('not_kept', detail);
    }
    const why = code === undefined ? detail : `${code}: ${detail}`;
    const said = `${this.#file} cannot be written (${why}), so the change is not kept: ${remedyOf(code)}`;
    this.#failed(said, code);
    return new StoreError('not_kept', said);
  }

  #failed(said: string, code: string | null = null): void {
    this.#problem = said;
    this.#say('refused', said, code);
  }

  #works(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#complaints.recovered(this.#file, 'can be written again');
  }

  #tell({ damaged, setAside, lossNote, isTorn }: Findings): void {
    for (const damage of damaged) this.#foundDamaged(damage);
    for (const file of setAside) {
      const what = `${file} was damaged and is set aside; what it held is not used`;
      this.#foundLoss(`${what}. Remove it, and start Holdfast again, when you no longer need it`);
    }
    if (lossNote !== null) {
      const what = `${this.#file} has lost changes that were acknowledged: it or its log was damaged, or an older file was put in its place`;
      this.#foundLoss(
        `${what}. Remove ${lossNote}, and start Holdfast again, to go on without them`,
      );
    }
    if (isTorn) {
      const what = `${this.#file}: the last change was not completely written and is undone`;
      const why = 'the process was killed, the machine lost its power, or the disk is damaged';
      this.#say('damaged', `${what}: ${why}`);
    }
  }

  #foundDamaged({ table, name, key }: Damage): void {
    this.#isWhole = false;
    this.#foundLoss(
      `${this.#file}: ${key} of ${name} (${table}) is damaged and is not used: end Holdfast and move the file away to begin a new one`,
    );
  }

  #foundLoss(detail: string): void {
    this.#damage ??= detail;
    this.#say('damaged', detail);
  }

  #say(kind: 'damaged' | 'refused', detail: string, code: string | null = null): void {
    this.#complaints.say({ kind, file: this.#file, code, detail }, code ?? detail);
  }
}

/** What is in memory was put by this version. */
function withoutShape({ shape: _shape, ...options }: RecordsOptions): RecordsOptions {
  return options;
}
