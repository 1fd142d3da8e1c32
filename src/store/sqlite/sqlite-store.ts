// The durable store of an instance: records, logs, queues and counters in one SQLite file, state.db,
// which exactly one process uses. What need not be durable is kept in memory. A change resolves when it
// is on the disk; a disk that refuses rejects the change, and the store says so until one succeeds.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import type { Counter, CounterOptions } from '../contract/counter.ts';
import type { Durability } from '../contract/durability.ts';
import type { Log, LogOptions } from '../contract/log.ts';
import type { Queue, QueueOptions } from '../contract/queue.ts';
import type { Records, RecordsOptions } from '../contract/records.ts';
import { MemoryStore } from '../memory-store.ts';
import { OpenedWords } from '../opened-words.ts';
import { Complaints, type StoreProblem } from '../problem.ts';
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
}

const sweepEveryMs = 600_000;

export class SqliteStore implements Store {
  readonly #gatherer: Gatherer;
  readonly #memory: MemoryStore;
  readonly #complaints: Complaints;
  readonly #file: string;
  readonly #parts: WordParts;
  readonly #opened = new OpenedWords();
  /** Something was found damaged. What it was is not known for certain: anything may be missing. */
  #isWhole: boolean;
  readonly #clock: Clock;
  #sweeping: Disposable;
  #problem: string | undefined;
  /** What was found damaged first, and what to do. */
  #damage: string | undefined;

  constructor({ backend, file, clock, report, findings }: SqliteStoreOptions) {
    this.#gatherer = new Gatherer(backend);
    this.#memory = new MemoryStore({ clock });
    this.#complaints = new Complaints(report);
    this.#file = file;
    this.#clock = clock;
    this.#isWhole = findings.setAside.length === 0 && findings.lossNote === null;
    this.#parts = {
      clock,
      run: (operation) => this.#run(operation),
      isWhole: () => this.#isWhole,
    };
    this.#tell(findings);
    this.#sweeping = this.#scheduleSweep();
  }

  records(name: string, options: RecordsOptions): Records {
    return this.#opened.open('records', name, options, () =>
      isDurable(options)
        ? sqliteRecords(this.#parts, name, options)
        : this.#memory.records(name, options),
    );
  }

  log(name: string, options: LogOptions): Log {
    return this.#opened.open('log', name, options, () =>
      isDurable(options) ? sqliteLog(this.#parts, name, options) : this.#memory.log(name, options),
    );
  }

  queue(name: string, options: QueueOptions): Queue {
    return this.#opened.open('queue', name, options, () =>
      isDurable(options)
        ? sqliteQueue(this.#parts, name, options)
        : this.#memory.queue(name, options),
    );
  }

  counter(name: string, options: CounterOptions): Counter {
    return this.#opened.open('counter', name, options, () =>
      isDurable(options)
        ? sqliteCounter(this.#parts, name, options)
        : this.#memory.counter(name, options),
    );
  }

  health(): StoreHealth {
    const problem = this.#problem ?? this.#damage;
    return problem === undefined ? { ok: true } : { ok: false, problem };
  }

  async close(): Promise<void> {
    this.#sweeping[Symbol.dispose]();
    await this.#gatherer.close();
    await this.#memory.close();
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
    const outcome = await this.#gatherer.run(operation).catch((error: unknown) => {
      // The thread of the database has ended.
      if (error instanceof StoreError && error.reason === 'not_kept') this.#failed(error.message);
      throw error;
    });
    for (const damage of outcome.damaged ?? []) this.#foundDamaged(damage);
    if (outcome.ok) {
      if (outcome.isStored) this.#works();
      return outcome.value;
    }
    throw this.#refusal(outcome);
  }

  #refusal({ reason, detail, code }: Extract<StoreOutcome, { readonly ok: false }>): StoreError {
    if (reason !== 'not_kept') return new StoreError(reason, detail);
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

function isDurable({ durability }: { readonly durability: Durability }): boolean {
  return durability === 'durable';
}
