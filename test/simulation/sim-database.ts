// The simulated database of an instance, behind the contract of durable records: what has resolved is
// there in every later life, what has not may be there or not, and operations that were asked for
// together are committed together or not at all. It is slow, full or failing when the disk is, and in
// some runs single rows rot. What it has refused and what has rotted is kept, so that an answer that
// is missing can be told from one that was lost by the host.

import type { ConditionalPut, RecordEntry, Records } from '../../src/store/contract/records.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreError, storeClosed, unsupported } from '../../src/store/store-error.ts';
import type { Tether } from './tether.ts';
import type { World } from './world.ts';

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

export class SimDatabase {
  readonly #world: World;
  readonly #rows = new Map<string, Row>();
  readonly #damaged = new Set<string>();
  /** Places that could not be read or changed at least once; a claim that fails takes nothing away. */
  readonly #troubled = new Set<string>();
  readonly #rots: boolean;
  /** What is being committed: a kill leaves all of it or nothing. */
  #committing: readonly Operation[] = [];
  #version = 0;

  constructor(world: World) {
    this.#world = world;
    this.#rots = world.dice.chance(0.15);
  }

  get isCommitting(): boolean {
    return this.#committing.some(({ kind }) => kind !== 'reading');
  }

  /** Has a change of this record, or a look at it, ever failed? */
  isTroubled(name: string, key: string): boolean {
    return this.#troubled.has(placeOf(name, key));
  }

  /** As one life of the host sees it: after its end no answer comes. */
  for(tether: Tether): Store {
    const engine = new Engine(this, tether);
    const no = (what: string) => unsupported('the simulated database', what);
    const memory = new MemoryStore({ clock: tether });
    const close = () => engine.close();
    return {
      records: (name, options) =>
        options.durability === 'durable'
          ? recordsIn(name, engine, this, tether)
          : memory.records(name, options),
      log: () => {
        throw no('log');
      },
      queue: () => {
        throw no('queue');
      },
      counter: () => {
        throw no('counter');
      },
      health: () => ({ ok: true }),
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  /** The host is killed: what was being committed is there as a whole, or not at all. */
  crash(): void {
    const batch = this.#committing;
    this.#committing = [];
    if (batch.length === 0 || !this.#world.dice.chance(0.5)) return;
    this.#apply(batch);
  }

  // --- for the engine ----------------------------------------------------------------------

  async commit(batch: readonly Operation[], tether: Tether): Promise<void> {
    const { disk } = this.#world;
    this.#committing = batch;
    await disk.moment(tether);
    this.#committing = [];
    const code = batch.some(({ kind }) => kind !== 'reading') ? disk.refused() : '';
    const isDone = code === '' || this.#world.dice.chance(0.2);
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
    const { clock, dice, faults } = this.#world;
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
  readonly #tether: Tether;
  #waiting: Operation[] = [];
  #working: Promise<void> | undefined;
  #isClosed = false;

  constructor(database: SimDatabase, tether: Tether) {
    this.#database = database;
    this.#tether = tether;
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
      await this.#database.commit(batch, this.#tether);
    }
    this.#working = undefined;
  }
}

function placeOf(name: string, key: string): string {
  return `${name} ${JSON.stringify(key)}`;
}

function recordsIn(name: string, engine: Engine, database: SimDatabase, tether: Tether): Records {
  const place = (key: string) => placeOf(name, key);
  const row = (value: unknown, ttlMs: number | undefined): Row => ({
    text: JSON.stringify(value),
    version: database.nextVersion(),
    expiresAt: ttlMs === undefined ? null : tether.wallNow() + ttlMs,
  });
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
    put: (key, value, { ttlMs } = {}) =>
      engine.ask('change', place(key), (_rows, changes) => {
        const put = row(value, ttlMs);
        changes.set(place(key), put);
        return put.version;
      }),
    putIfAbsent: (key, value, { ttlMs } = {}) =>
      putIf(
        key,
        (found) => found === undefined,
        () => row(value, ttlMs),
      ),
    compareAndSet: (key, version, value, { ttlMs } = {}) =>
      putIf(
        key,
        (found) => found?.version === version,
        () => row(value, ttlMs),
      ),
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
