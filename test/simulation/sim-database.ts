// The simulated database of an instance, behind the contract of durable records: what has resolved is
// there in every later life, what has not may be there or not, and operations that were asked for
// together are committed together or not at all. It is slow, full or failing when the disk is, and in
// some runs single rows rot. What it has refused and what has rotted is kept, so that an answer that
// is missing can be told from one that was lost by the host.

import type { Clock } from '../../src/kernel/clock.ts';
import type { ConditionalPut, RecordEntry, Records } from '../../src/store/contract/records.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { OpenedWords } from '../../src/store/opened-words.ts';
import { jsonText, type Store } from '../../src/store/store.ts';
import { StoreError, storeClosed, unsupported } from '../../src/store/store-error.ts';
import type { FaultInjection } from './fault-injection.ts';
import type { Dice } from './random.ts';

interface Row {
  readonly text: string;
  readonly version: string;
  /** Wall time; null: never. */
  readonly expiresAt: number | null;
}

/** By collection and key, as JSON. */
type Rows = ReadonlyMap<string, Row>;

interface Operation {
  readonly place: string;
  /** A reading changes nothing and cannot fail for want of room; a claim puts only what is not there. */
  readonly kind: 'reading' | 'claim' | 'change';
  /** Its result; what it changes it puts into `changes`, where null is a removal. */
  readonly act: (rows: Rows, changes: Map<string, Row | null>) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: StoreError) => void;
}

/** What it stands on: the world, or less. */
export interface Ground {
  readonly clock: Pick<Clock, 'wallNow'>;
  readonly dice: Pick<Dice, 'chance'>;
  readonly faults: Pick<FaultInjection, 'occurs'>;
  /** The code that a change is refused with, or nothing. */
  readonly disk: { refused(): string };
}

/** One life of the host: after its end no moment is over. */
export interface Life {
  readonly clock: Clock;
  /** As long as something takes on the disk. */
  readonly moment: () => Promise<void>;
}

export class SimDatabase {
  readonly #ground: Ground;
  readonly #rows = new Map<string, Row>();
  readonly #damaged = new Set<string>();
  /** Places that could not be read or changed at least once; a claim that fails takes nothing away. */
  readonly #troubled = new Set<string>();
  readonly #rots: boolean;
  /** What is being committed: a kill leaves all of it or nothing. */
  #committing: readonly Operation[] = [];
  #version = 0;
  /** Why the last change was refused; empty if it was not. */
  #problem = '';

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#rots = ground.dice.chance(0.15);
  }

  get isCommitting(): boolean {
    return this.#committing.some(({ kind }) => kind !== 'reading');
  }

  /** Has a change of this record, or a look at it, ever failed? */
  isTroubled(name: string, key: string): boolean {
    return this.#troubled.has(placeOf(name, key));
  }

  /** As one life of the host sees it: after its end no answer comes. */
  for({ clock, moment }: Life): Store {
    const engine = new Engine(this, moment);
    const opened = new OpenedWords();
    const memory = new MemoryStore({ clock });
    const no = (what: string) => unsupported('the simulated database', what);
    const close = async () => {
      await engine.close();
      await memory.close();
    };
    return {
      records: (name, options) => {
        const { durability, maxEntries } = options;
        if (maxEntries !== undefined) throw no('records that are counted');
        if (durability === 'forgetful') throw no('forgetful records');
        return opened.open('records', name, options, () =>
          durability === 'durable'
            ? recordsIn(name, engine, this, clock)
            : memory.records(name, options),
        );
      },
      log: () => {
        throw no('log');
      },
      queue: () => {
        throw no('queue');
      },
      counter: () => {
        throw no('counter');
      },
      health: () => {
        const problem = this.#problem;
        return problem === '' ? { ok: true } : { ok: false, problem };
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  /** The host is killed: what was being committed is there as a whole, or not at all. */
  crash(): void {
    const batch = this.#committing;
    this.#committing = [];
    if (batch.length === 0 || !this.#ground.dice.chance(0.5)) return;
    this.#apply(batch);
  }

  // --- for the engine ----------------------------------------------------------------------

  async commit(batch: readonly Operation[], moment: () => Promise<void>): Promise<void> {
    const { disk } = this.#ground;
    this.#committing = batch;
    await moment();
    this.#committing = [];
    const isChange = batch.some(({ kind }) => kind !== 'reading');
    const code = isChange ? disk.refused() : '';
    if (isChange) this.#problem = code;
    const isDone = code === '' || this.#ground.dice.chance(0.2);
    const outcomes = isDone ? this.#apply(batch) : [];
    const refusal = new StoreError('not_kept', `the database refuses: ${code}`);
    for (const [at, operation] of batch.entries()) {
      const isRefused = code !== '' && operation.kind !== 'reading';
      const found = isDone ? outcomes[at] : this.#tried(operation, new Map());
      this.#answer(operation, isRefused ? refusal : found);
    }
  }

  #answer({ kind, place, resolve, reject }: Operation, outcome: unknown): void {
    if (!(outcome instanceof StoreError)) return resolve(outcome);
    if (kind !== 'claim') this.#troubled.add(place);
    reject(outcome);
  }

  nextVersion(): string {
    this.#version += 1;
    return String(this.#version);
  }

  /** Rows that cannot be read are in no list, and somebody is told so. */
  isWhole(name: string): boolean {
    return ![...this.#damaged].some((place) => place.startsWith(`${name} `));
  }

  readable(rows: Rows, place: string): Row | undefined {
    const { clock, dice, faults } = this.#ground;
    const row = rows.get(place);
    if (row === undefined) return undefined;
    if (this.#rots && faults.occurs('disk-rot') && dice.chance(0.2)) this.#damaged.add(place);
    if (this.#damaged.has(place) || faults.occurs('disk-unreadable')) {
      throw new StoreError('unreadable', `the row ${place} cannot be read`);
    }
    return row.expiresAt === null || clock.wallNow() < row.expiresAt ? row : undefined;
  }

  listed(rows: Rows, name: string): readonly string[] {
    const places = [...rows.keys()].filter((place) => place.startsWith(`${name} `));
    return places.filter((place) => !this.#damaged.has(place)).sort();
  }

  #apply(batch: readonly Operation[]): unknown[] {
    const changes = new Map<string, Row | null>();
    const outcomes = batch.map((operation) => this.#tried(operation, changes));
    for (const [place, row] of changes) {
      this.#damaged.delete(place);
      if (row) this.#rows.set(place, row);
      else this.#rows.delete(place);
    }
    return outcomes;
  }

  #tried({ act }: Operation, changes: Map<string, Row | null>): unknown {
    const seen = new Map(this.#rows);
    for (const [place, row] of changes) {
      if (row) seen.set(place, row);
      else seen.delete(place);
    }
    try {
      return act(changes.size === 0 ? this.#rows : seen, changes);
    } catch (error) {
      if (error instanceof StoreError) return error;
      throw error;
    }
  }
}

/** One batch after the other; what was asked for in one turn is one batch. */
class Engine {
  readonly #database: SimDatabase;
  readonly #moment: () => Promise<void>;
  #waiting: Operation[] = [];
  #working: Promise<void> | undefined;
  #isClosed = false;

  constructor(database: SimDatabase, moment: () => Promise<void>) {
    this.#database = database;
    this.#moment = moment;
  }

  ask<T>(kind: Operation['kind'], place: string, act: Operation['act']): Promise<T> {
    if (this.#isClosed) return Promise.reject(storeClosed());
    return new Promise<T>((resolve, reject) => {
      const given = resolve as (value: unknown) => void;
      this.#waiting.push({ kind, place, act, resolve: given, reject });
      this.#working ??= this.#work();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#working;
  }

  async #work(): Promise<void> {
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#database.commit(batch, this.#moment);
    }
    this.#working = undefined;
  }
}

function placeOf(name: string, key: string): string {
  return `${name} ${JSON.stringify(key)}`;
}

function recordsIn(name: string, engine: Engine, database: SimDatabase, clock: Clock): Records {
  const place = (key: string) => placeOf(name, key);
  /** The text is made when it is asked for; a later change of the value does not count. */
  const row = (value: unknown, ttlMs: number | undefined): (() => Row) => {
    const text = jsonText(value);
    const expiresAt = ttlMs === undefined ? null : clock.wallNow() + ttlMs;
    return () => ({ text, version: database.nextVersion(), expiresAt });
  };
  const entry = (key: string, found: Row | undefined): RecordEntry | undefined =>
    found && { key, value: JSON.parse(found.text), version: found.version };
  const putIf = (
    key: string,
    isRight: (found: RecordEntry | undefined) => boolean,
    next: () => Row,
  ): Promise<ConditionalPut> =>
    engine.ask('claim', place(key), (rows, changes) => {
      const found = entry(key, database.readable(rows, place(key)));
      if (!isRight(found)) return { isPut: false, entry: found };
      const put = next();
      changes.set(place(key), put);
      return { isPut: true, version: put.version };
    });
  return {
    get: (key) =>
      engine.ask('reading', place(key), (rows) => entry(key, database.readable(rows, place(key)))),
    put: async (key, value, { ttlMs } = {}) => {
      const next = row(value, ttlMs);
      return engine.ask('change', place(key), (_rows, changes) => {
        const put = next();
        changes.set(place(key), put);
        return put.version;
      });
    },
    putIfAbsent: async (key, value, { ttlMs } = {}) =>
      putIf(key, (found) => found === undefined, row(value, ttlMs)),
    compareAndSet: async (key, version, value, { ttlMs } = {}) =>
      putIf(key, (found) => found?.version === version, row(value, ttlMs)),
    remove: (key) =>
      engine.ask('change', place(key), (_rows, changes) => void changes.set(place(key), null)),
    entries: (prefix = '') =>
      engine.ask('reading', `${name} `, (rows) =>
        database
          .listed(rows, name)
          .map((at) => [JSON.parse(at.slice(name.length + 1)) as string, at] as const)
          .filter(([key]) => key.startsWith(prefix))
          .flatMap(([key, at]) => entry(key, database.readable(rows, at)) ?? []),
      ),
    isWhole: () => engine.ask('reading', `${name} `, () => database.isWhole(name)),
  };
}
