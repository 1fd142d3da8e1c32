// Idempotency keys in a durable store, so that they survive a kill of the process. A key and its answer
// are separate records: the key says whose it is and what it was used for, the answer holds the payload
// and is encrypted (or kept in memory, if there is no place for the encryption's own key). A key without
// its answer is a call whose outcome is unknown: it does not run again. keyed-index.ts bounds both, waiting-answers.ts
// what waits for the disk. Where several
// replicas share the store, a key without its answer says which of them has the call: while that one runs, the others
// wait for its answer.

import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { Fault, type FaultRecord } from '../kernel/fault.ts';
import { asBuffer, isBytes } from '../store/contract/bytes.ts';
import type { RecordEntry, Records } from '../store/contract/records.ts';
import { StoreError } from '../store/store-error.ts';
import type { KeyedOutcome, KeyedRecord, KeyedStore } from './idempotency.ts';
import { KeyedIndex, type KeyedLimits } from './keyed-index.ts';
import { answerBytes } from './keyed-memory.ts';
import { WaitingAnswers } from './waiting-answers.ts';

/** The replicas that share the keys. */
export interface KeyHolders {
  /** This one. */
  readonly id: string;
  /** Rejects if that cannot be said. */
  isAlive(replica: string): Promise<boolean>;
}

export interface KeyedRecordsParts {
  readonly clock: Clock;
  readonly keys: Records;
  /** Opened with the first key that is used. */
  readonly answers: () => Promise<Records>;
  readonly limits?: KeyedLimits;
  readonly waiting?: WaitingAnswers;
  readonly replicas?: KeyHolders | undefined;
}

/** A key, as it is stored. */
interface StoredKey {
  readonly owner: string;
  readonly fingerprint: string;
  readonly state: 'begun' | 'answered' | 'dropped';
  readonly bytes: number;
  /** Wall time. */
  readonly expiresAt: number;
  /** The replica that has the call, while it runs. */
  readonly at?: string;
}

export function isStoredKey(value: unknown): value is StoredKey {
  const { owner, fingerprint, state, bytes, expiresAt, at } = (value ?? {}) as Partial<StoredKey>;
  return (
    (at === undefined || typeof at === 'string') &&
    typeof owner === 'string' &&
    typeof fingerprint === 'string' &&
    (state === 'begun' || state === 'answered' || state === 'dropped') &&
    typeof bytes === 'number' &&
    typeof expiresAt === 'number'
  );
}

/** Results are stored as bytes where that is possible, and as text otherwise: they are JSON in UTF-8, so that a text holds them to the byte. */
type StoredAnswer = Uint8Array | { readonly text: string } | { readonly fault: FaultRecord };

/** How often another replica's call is looked at, and that replica itself. */
const lookMs = 100;
const looksBetweenSigns = 20;
const longestMs = 900_000;

/** In one commit. */
const dropsAtOnce = 256;

export class KeyedRecords implements KeyedStore {
  readonly #parts: KeyedRecordsParts;
  readonly #waiting: WaitingAnswers;
  #loading: Promise<KeyedIndex> | undefined;

  constructor(parts: KeyedRecordsParts) {
    this.#parts = parts;
    this.#waiting = parts.waiting ?? new WaitingAnswers();
  }

  async claim(slot: string, record: KeyedRecord, ttlMs: number): Promise<KeyedRecord | undefined> {
    const { keys, clock } = this.#parts;
    const index = await this.#index();
    index.sweep(clock.wallNow());
    const isNew = !index.has(slot);
    if (isNew) {
      await this.#assertWhole();
      index.assertRoomFor(record.owner, clock.wallNow());
      index.wrote(slot, record.owner, 0, clock.wallNow() + ttlMs);
    }
    try {
      const put = await keys.putIfAbsent(slot, this.#stored(record, 'begun', ttlMs), { ttlMs });
      if (put.isPut) return undefined;
      const entry = await this.#settled(slot, put.entry, record.fingerprint);
      if (entry !== undefined) return await this.#found(slot, entry);
    } catch (error) {
      // It is not known to be there; if it is, it is found by the next claim.
      if (isNew) index.forget(slot);
      throw error;
    }
    // The other replica has not run it: the key is free again.
    if (isNew) index.forget(slot);
    return await this.claim(slot, record, ttlMs);
  }

  /** The key when the call of another replica has ended, or that replica has; undefined: the key is free again. */
  async #settled(
    slot: string,
    found: RecordEntry | undefined,
    fingerprint: string,
  ): Promise<RecordEntry | undefined> {
    const { keys, clock, replicas } = this.#parts;
    let entry = found;
    // Longer than any call may take: then its outcome could not be stored.
    const giveUpAt = clock.now() + longestMs;
    for (let look = 1; entry !== undefined && replicas !== undefined; look += 1) {
      if (clock.now() > giveUpAt) break;
      const { value } = entry;
      if (!isStoredKey(value) || value.state !== 'begun' || value.fingerprint !== fingerprint)
        break;
      if (value.at === undefined || value.at === replicas.id) break;
      const isSign = look % looksBetweenSigns === 1;
      // It may have ended between the two questions.
      if (isSign && !(await replicas.isAlive(value.at))) return await keys.get(slot);
      await new Promise<void>((resolve) => void clock.after(lookMs, resolve));
      entry = await keys.get(slot);
    }
    return entry;
  }

  async put(slot: string, record: KeyedRecord, ttlMs: number): Promise<void> {
    const { owner, outcome } = record;
    const bytes = answerBytes(record);
    if (outcome.kind !== 'result') return await this.#write(slot, record, ttlMs);
    if (!this.#waiting.begin(owner, bytes)) {
      // Its caller does not wait for the disk with it. Until the key says so, the outcome counts as unknown.
      const dropped = { ...record, outcome: { kind: 'dropped' } } as const;
      return void this.#write(slot, dropped, ttlMs).catch(ignored);
    }
    try {
      await this.#write(slot, record, ttlMs);
    } finally {
      this.#waiting.done(owner, bytes);
    }
  }

  async #write(slot: string, record: KeyedRecord, ttlMs: number): Promise<void> {
    const { keys, clock, replicas } = this.#parts;
    const index = await this.#index();
    const answers = await this.#parts.answers();
    const { outcome } = record;
    const answer = answerOf(outcome, answers);
    const state = answer ? 'answered' : outcome.kind === 'dropped' ? 'dropped' : 'begun';
    index.wrote(slot, record.owner, answerBytes(record), clock.wallNow() + ttlMs);
    // Asked for in the same turn, they are committed together.
    const kept = answer && answers.put(slot, answer, { ttlMs });
    // Other replicas look for the answer as soon as the key says that there is one.
    if (replicas !== undefined) await kept;
    await Promise.all([kept, keys.put(slot, this.#stored(record, state, ttlMs), { ttlMs })]);
    await this.#drop(index.dropAnswers());
  }

  /** Their answers make room for others; the keys stay, and say so. */
  async #drop(slots: readonly string[]): Promise<void> {
    for (let at = 0; at < slots.length; at += dropsAtOnce) {
      const some = slots.slice(at, at + dropsAtOnce);
      await Promise.all(some.map((slot) => this.#dropOne(slot)));
    }
  }

  async #dropOne(slot: string): Promise<void> {
    const { keys, clock } = this.#parts;
    const answers = await this.#parts.answers();
    const entry = await keys.get(slot);
    await answers.remove(slot);
    if (entry === undefined || !isStoredKey(entry.value)) return;
    const dropped: StoredKey = { ...entry.value, state: 'dropped', bytes: 0 };
    const ttlMs = Math.max(1, dropped.expiresAt - clock.wallNow());
    await keys.compareAndSet(slot, entry.version, dropped, { ttlMs });
  }

  async free(slot: string): Promise<void> {
    await this.#parts.keys.remove(slot);
    (await this.#index()).forget(slot);
  }

  #stored(record: KeyedRecord, state: StoredKey['state'], ttlMs: number): StoredKey {
    const { owner, fingerprint } = record;
    const { clock, replicas } = this.#parts;
    const expiresAt = clock.wallNow() + ttlMs;
    const at = state === 'begun' && replicas !== undefined ? { at: replicas.id } : {};
    return { owner, fingerprint, state, bytes: answerBytes(record), expiresAt, ...at };
  }

  /** What an earlier call with this key has left. */
  async #found(slot: string, entry: RecordEntry | undefined): Promise<KeyedRecord> {
    if (!isStoredKey(entry?.value)) throw damaged();
    const { owner, fingerprint, state } = entry.value;
    const outcome = state === 'answered' ? await this.#answerOf(slot) : ({ kind: state } as const);
    return { owner, fingerprint, outcome };
  }

  async #answerOf(slot: string): Promise<KeyedOutcome> {
    try {
      const entry = await (await this.#parts.answers()).get(slot);
      const answer = entry?.value as StoredAnswer | undefined;
      if (answer === undefined) return { kind: 'dropped' };
      if (isBytes(answer)) return { kind: 'result', bytes: asBuffer(answer) };
      if ('text' in answer) return { kind: 'result', bytes: Buffer.from(answer.text) };
      return { kind: 'fault', record: answer.fault };
    } catch (error) {
      // Encrypted with another key, or damaged: the call has run, and its answer is lost.
      if (error instanceof StoreError && error.reason === 'unreadable') return { kind: 'dropped' };
      throw error;
    }
  }

  /** Read once, and kept up to date; if that fails, the next call tries again. */
  #index(): Promise<KeyedIndex> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #load(): Promise<KeyedIndex> {
    const index = new KeyedIndex(this.#parts.limits);
    const entries = await this.#parts.keys.entries();
    const stored = entries.flatMap(({ key, value }) =>
      isStoredKey(value) ? [{ key, value }] : [],
    );
    stored.sort((one, other) => one.value.expiresAt - other.value.expiresAt);
    for (const { key, value } of stored) {
      index.wrote(key, value.owner, value.bytes, value.expiresAt);
    }
    return index;
  }

  /** If keys are missing, a new one cannot be told from one that was used. */
  async #assertWhole(): Promise<void> {
    if (!(await this.#parts.keys.isWhole())) throw damaged();
  }
}

function answerOf(outcome: KeyedOutcome, { takesBytes }: Records): StoredAnswer | undefined {
  if (outcome.kind === 'result')
    return takesBytes ? outcome.bytes : { text: outcome.bytes.toString('utf8') };
  return outcome.kind === 'fault' ? { fault: outcome.record } : undefined;
}

function damaged(): Fault {
  return new Fault(
    'overloaded',
    'the stored idempotency keys are damaged, so that it is not known whether this one was used; call without a key, or see: holdfast status',
  );
}
