// The simulated database of an instance, below the shipped store: it takes the operations that the store asks for and
// keeps records. What has resolved is there in every later life, what has not may be there or not, and operations that
// were asked for together are committed together or not at all. It is slow, full or failing when the disk is, and in
// some runs single rows rot. What it has refused and what has rotted is kept, so that an answer that is missing can be
// told from one that was lost by the host; and one process at a time may have it open.

import type { Clock } from '../../src/kernel/clock.ts';
import type {
  ConditionalPut,
  RecordEntry,
  RecordsOptions,
} from '../../src/store/contract/records.ts';
import type { StoreProblem } from '../../src/store/problem.ts';
import type { FormerStore } from '../../src/store/remote/former-store.ts';
import type { Backend } from '../../src/store/sqlite/backend.ts';
import {
  type InstanceStore,
  instanceStore,
  nothingFound,
} from '../../src/store/sqlite/instance-store.ts';
import type {
  RecordOperation,
  StoredText,
  StoreOperation,
  StoreOutcome,
} from '../../src/store/sqlite/operation.ts';
import { isReading } from '../../src/store/sqlite/operation.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { StoreError, unsupported } from '../../src/store/store-error.ts';
import type { FaultInjection } from './fault-injection.ts';
import type { Dice } from './random.ts';

interface Row {
  readonly text: StoredText;
  readonly version: string;
  /** Wall time; null: never. */
  readonly expiresAt: number | null;
}

/** By collection and key, as JSON. */
type Rows = Map<string, Row>;

/** What it stands on: the world, or less. */
export interface Ground {
  readonly clock: Pick<Clock, 'wallNow'>;
  readonly dice: Pick<Dice, 'chance'>;
  readonly faults: Pick<FaultInjection, 'occurs'>;
  /** The code that a change is refused with, or nothing. */
  readonly disk: { refused(): string };
}

/** One process of the host: after its end no moment is over. */
export interface Life {
  readonly clock: Clock;
  /** As long as something takes on the disk. */
  readonly moment: () => Promise<void>;
}

export interface DatabaseOptions {
  readonly report: (problem: StoreProblem) => void;
  /** The process before, in a rollout. */
  readonly former?: FormerStore | undefined;
  /** It is not opened before, unless it is used. */
  readonly openAfter?: Promise<unknown>;
}

const file = 'state.db';

export class SimDatabase {
  readonly #ground: Ground;
  #rows: Rows = new Map();
  readonly #damaged = new Set<string>();
  /** Places that could not be read or changed at least once; a claim that fails takes nothing away. */
  readonly #troubled = new Set<string>();
  readonly #rots: boolean;
  /** What is being committed: a kill leaves all of it or nothing. */
  #committing: readonly StoreOperation[] = [];
  #version = 0;
  /** Who has it open. */
  #user: Life | undefined;
  /** Somebody has opened it while another one had it. */
  wasShared = false;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#rots = ground.dice.chance(0.15);
  }

  get isCommitting(): boolean {
    return this.#committing.some((operation) => !isReading(operation));
  }

  /** Has a change of this record, or a look at it, ever failed? */
  isTroubled(name: string, key: string): boolean {
    return this.#troubled.has(placeOf(name, key));
  }

  /** The shipped store over it, as one process of the host has it: after its end no answer comes. */
  for(life: Life, { report, former, openAfter }: DatabaseOptions): InstanceStore {
    const { clock } = life;
    const open = async () => {
      const heard = await former?.released;
      const backend = this.#opened(life);
      const options = { backend, file, clock, report, findings: nothingFound };
      return new SqliteStore({ ...options, ...(heard && { former: heard }) });
    };
    const store = instanceStore(open, { clock, report, former, ...(openAfter && { openAfter }) });
    return onlyRecords(store);
  }

  /** A process is killed: what was being committed is there as a whole, or not at all. */
  crash(): void {
    const batch = this.#committing;
    this.#committing = [];
    this.#user = undefined;
    if (batch.length === 0 || !this.#ground.dice.chance(0.5)) return;
    this.#apply(batch);
  }

  isOpenIn({ clock }: Pick<Life, 'clock'>): boolean {
    return this.#user?.clock === clock;
  }

  // --- for the store -----------------------------------------------------------------------

  #opened(life: Life): Backend {
    if (this.#user !== undefined) this.wasShared = true;
    this.#user = life;
    return {
      apply: (operations) => this.#commit(operations, life.moment),
      close: async () => {
        if (this.#user === life) this.#user = undefined;
      },
    };
  }

  async #commit(
    batch: readonly StoreOperation[],
    moment: () => Promise<void>,
  ): Promise<readonly StoreOutcome[]> {
    const { disk, dice } = this.#ground;
    this.#committing = batch;
    await moment();
    this.#committing = [];
    const code = batch.every(isReading) ? '' : disk.refused();
    if (code === '') return this.#apply(batch);
    // It may be there all the same, and only that could not be said.
    const isDone = dice.chance(0.2);
    const outcomes = isDone ? this.#apply(batch) : this.#looked(batch);
    return outcomes.map((outcome, at) => {
      const operation = batch[at] as StoreOperation;
      if (isReading(operation)) return outcome;
      this.#trouble(operation);
      return { ok: false, reason: 'not_kept', detail: 'the database refuses', code };
    });
  }

  #trouble(operation: StoreOperation): void {
    const { action, name } = operation;
    const isClaim = action === 'putIfAbsent' || action === 'compareAndSet';
    if (!isClaim && 'key' in operation) this.#troubled.add(placeOf(name, operation.key));
  }

  #apply(batch: readonly StoreOperation[]): StoreOutcome[] {
    return batch.map((operation) => this.#tried(operation, this.#rows, true));
  }

  /** Nothing of it is kept. */
  #looked(batch: readonly StoreOperation[]): StoreOutcome[] {
    const rows = new Map(this.#rows);
    return batch.map((operation) => this.#tried(operation, rows, false));
  }

  #tried(operation: StoreOperation, rows: Rows, isKept: boolean): StoreOutcome {
    if (operation.word !== 'records') throw unsupported('the simulated database', operation.word);
    try {
      const { value, damaged } = this.#result(operation, rows, isKept);
      const stored = isReading(operation) ? {} : { isStored: true as const };
      return { ok: true, value, ...stored, ...(damaged.length > 0 && { damaged }) };
    } catch (error) {
      if (!(error instanceof StoreError) || !('key' in operation)) throw error;
      const { name, key } = operation;
      this.#trouble(operation);
      const isDamaged = this.#damaged.has(placeOf(name, key));
      const damaged = isDamaged ? [{ table: 'records', name, key }] : [];
      const { reason, message: detail } = error;
      return { ok: false, reason, detail, ...(isDamaged && { damaged }) };
    }
  }

  #result(operation: RecordOperation, rows: Rows, isKept: boolean) {
    const { name, now } = operation;
    const damaged: { table: string; name: string; key: string }[] = [];
    const done = (value: unknown) => ({ value, damaged });
    const put = (key: string, written: Omit<Row, 'version'>): string => {
      const place = placeOf(name, key);
      this.#version += 1;
      const version = String(this.#version);
      rows.set(place, { ...written, version });
      if (isKept) this.#damaged.delete(place);
      return version;
    };
    const find = (key: string) => entryOf(key, this.#readable(rows, placeOf(name, key), now));
    const putIf = (isRight: (found: RecordEntry | undefined) => boolean): ConditionalPut => {
      const { key, text, expiresAt } = operation as Extract<RecordOperation, { text: StoredText }>;
      const found = find(key);
      if (!isRight(found)) return { isPut: false, entry: found };
      return { isPut: true, version: put(key, { text, expiresAt }) };
    };
    switch (operation.action) {
      case 'get':
        return done(find(operation.key));
      case 'put':
        return done(put(operation.key, operation));
      case 'putIfAbsent':
        return done(putIf((found) => found === undefined));
      case 'compareAndSet':
        return done(putIf((found) => found?.version === operation.version));
      case 'remove':
        rows.delete(placeOf(name, operation.key));
        if (isKept) this.#damaged.delete(placeOf(name, operation.key));
        return done(undefined);
      case 'entries': {
        const found: RecordEntry[] = [];
        for (const place of [...rows.keys()].sort()) {
          const key = keyIn(place, name);
          if (key === undefined || !key.startsWith(operation.prefix)) continue;
          if (this.#damaged.has(place)) damaged.push({ table: 'records', name, key });
          else
            found.push(...[entryOf(key, this.#readable(rows, place, now))].flatMap((e) => e ?? []));
        }
        return done(found);
      }
      case 'isWhole':
        return done(true);
      case 'sweep':
        for (const [place, { expiresAt }] of [...rows]) {
          if (expiresAt !== null && expiresAt <= now) rows.delete(place);
        }
        return done(undefined);
    }
  }

  #readable(rows: Rows, place: string, now: number): Row | undefined {
    const { dice, faults } = this.#ground;
    const row = rows.get(place);
    if (row === undefined) return undefined;
    if (this.#rots && faults.occurs('disk-rot') && dice.chance(0.2)) this.#damaged.add(place);
    if (this.#damaged.has(place) || faults.occurs('disk-unreadable')) {
      throw new StoreError('unreadable', `the row ${place} cannot be read`);
    }
    return row.expiresAt === null || now < row.expiresAt ? row : undefined;
  }
}

/** What the simulated host keeps in it; what it has no place for is refused when it is opened. */
function onlyRecords(store: InstanceStore): InstanceStore {
  const no = (what: string) => unsupported('the simulated database', what);
  const refused = (what: string) => () => {
    throw no(what);
  };
  return {
    records: (name: string, options: RecordsOptions) => {
      if (options.maxEntries !== undefined) throw no('records that are counted');
      if (options.durability === 'forgetful') throw no('forgetful records');
      return store.records(name, options);
    },
    log: refused('log'),
    queue: refused('queue'),
    counter: refused('counter'),
    health: () => store.health(),
    close: () => store.close(),
    handOver: (link) => store.handOver(link),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

function placeOf(name: string, key: string): string {
  return `${name} ${JSON.stringify(key)}`;
}

function keyIn(place: string, name: string): string | undefined {
  return place.startsWith(`${name} `)
    ? (JSON.parse(place.slice(name.length + 1)) as string)
    : undefined;
}

function entryOf(key: string, row: Row | undefined): RecordEntry | undefined {
  if (row === undefined) return undefined;
  const { text, version } = row;
  // A copy: what is in the row is nobody else's.
  const value: unknown = typeof text === 'string' ? JSON.parse(text) : Buffer.from(text);
  return { key, value, version };
}
