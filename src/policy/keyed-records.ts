// Idempotency keys in a durable store, so that they survive a kill of the process. A key and its answer
// are separate records: the key says whose it is and what it was used for, the answer holds the payload
// and is encrypted (or kept in memory, if there is no place for the encryption's own key). A key without
// its answer is a call whose outcome is unknown: it does not run again. keyed-index.ts bounds both, waiting-answers.ts
// what waits for the disk. Where several
// replicas share the store, a key without its answer says which of them has the call: while that one runs, the others
// wait for its answer. The processes of one instance in a rollout are such replicas. Nothing here answers instead of the
// store: the index only bounds it, and what could not be stored yet is claimed by this process, which the others ask.

import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';
import type { RecordEntry, Records } from '../store/contract/records.ts';
import { StoreError } from '../store/store-error.ts';
import type { KeyedRecord, KeyedStore } from './idempotency.ts';
import { answerOf, storedOutcome } from './key-answers.ts';
import { KeyClaims } from './key-claims.ts';
import { KeyedIndex, type KeyedLimits } from './keyed-index.ts';
import { answerBytes } from './keyed-memory.ts';
import { type KeyedWait, type KeyHolders, settledElsewhere } from './keyed-wait.ts';
import { LaterChanges } from './later-changes.ts';
import { isStoredKey, type StoredKey } from './stored-key.ts';
import { WaitingAnswers } from './waiting-answers.ts';

export interface KeyedRecordsParts {
  readonly clock: Clock;
  readonly keys: Records;
  /** Opened with the first key that is used. */
  readonly answers: () => Promise<Records>;
  readonly limits?: KeyedLimits;
  readonly waiting?: WaitingAnswers;
  readonly replicas?: KeyHolders | undefined;
}

/** In one commit. */
const dropsAtOnce = 256;

export class KeyedRecords implements KeyedStore {
  readonly #parts: KeyedRecordsParts;
  readonly #waiting: WaitingAnswers;
  readonly #later: LaterChanges;
  readonly #claims: KeyClaims;
  /** Outcomes that could not be stored yet, by slot: at most what `LaterChanges` tries again. */
  readonly #unsaved = new Map<string, KeyedRecord>();
  #loading: Promise<KeyedIndex> | undefined;

  constructor(parts: KeyedRecordsParts) {
    this.#parts = parts;
    this.#waiting = parts.waiting ?? new WaitingAnswers();
    this.#later = new LaterChanges(parts.clock);
    this.#claims = new KeyClaims({ ...parts, later: this.#later });
    parts.replicas?.answerClaims((claim) => this.#claims.stateOf(claim));
  }

  /** What is kept of calls whose changes of the store are under way. */
  get size(): { readonly claims: number; readonly later: number } {
    return { claims: this.#claims.size, later: this.#later.size };
  }

  async claim(
    slot: string,
    record: KeyedRecord,
    ttlMs: number,
    wait?: KeyedWait,
  ): Promise<KeyedRecord | undefined> {
    const { clock } = this.#parts;
    const unsaved = this.#unsaved.get(slot);
    if (unsaved !== undefined) return unsaved;
    const index = await this.#index();
    index.sweep(clock.wallNow());
    const isNew = !index.has(slot);
    if (isNew) {
      await this.#assertWhole();
      index.assertRoomFor(record.owner, clock.wallNow());
      index.wrote(slot, record.owner, 0, clock.wallNow() + ttlMs);
    }
    try {
      const found = await this.#claimed(slot, record, ttlMs, wait);
      if (found !== 'free') return found;
    } catch (error) {
      // It is not known to be there; if it is, it is found by the next claim.
      if (isNew) index.forget(slot);
      throw error;
    }
    // The other replica has not run it: the key is free again.
    if (isNew) index.forget(slot);
    return await this.claim(slot, record, ttlMs, wait);
  }

  /** What an earlier call has left; undefined: the key is ours; `free`: it was not, and may be now. */
  async #claimed(
    slot: string,
    record: KeyedRecord,
    ttlMs: number,
    wait: KeyedWait | undefined,
  ): Promise<KeyedRecord | 'free' | undefined> {
    const { keys, clock, replicas } = this.#parts;
    if (replicas === undefined) {
      const put = await keys.putIfAbsent(slot, this.#stored(record, 'begun', ttlMs), { ttlMs });
      return put.isPut ? undefined : await this.#found(slot, put.entry);
    }
    const claims = this.#claims;
    const claim = claims.begin();
    const begun = { ...this.#stored(record, 'begun', ttlMs), claim };
    let isDoubtful = false;
    const doubtful = (error: unknown) => {
      isDoubtful = true;
      return claims.readBack(slot, claim, error);
    };
    try {
      const put = await keys.putIfAbsent(slot, begun, { ttlMs }).catch(doubtful);
      if (put.isPut) return claims.hold(slot, claim) as undefined;
      const ownState = (other: string) => claims.stateOf(other);
      const parts = { keys, clock, holders: replicas, ownState };
      const settled = await settledElsewhere(parts, slot, put.entry, record.fingerprint, wait);
      if (settled.kind === 'free') return 'free';
      if (settled.kind === 'ended') return await this.#found(slot, settled.entry);
      const { version } = settled.entry;
      const taken = await keys.compareAndSet(slot, version, begun, { ttlMs }).catch(doubtful);
      return taken.isPut ? (claims.hold(slot, claim) as undefined) : 'free';
    } finally {
      // Otherwise it is withdrawn, and ends then.
      if (!isDoubtful && !claims.isHeld(slot, claim)) claims.end(claim);
    }
  }

  async put(slot: string, record: KeyedRecord, ttlMs: number): Promise<void> {
    const { owner, outcome } = record;
    const claim = this.#claims.letGo(slot);
    const bytes = outcome.kind === 'result' ? answerBytes(record) : 0;
    const isWaiting = bytes > 0 && this.#waiting.begin(owner, bytes);
    const over = () => {
      if (isWaiting) this.#waiting.done(owner, bytes);
      if (claim !== undefined) this.#claims.end(claim);
      this.#unsaved.delete(slot);
    };
    if (outcome.kind !== 'result' || isWaiting) return await this.#save(slot, record, ttlMs, over);
    // Its caller does not wait for the disk with it. Until the key says so, the outcome counts as unknown.
    this.#save(slot, droppedOf(record), ttlMs, over).catch(ignored);
  }

  /** Now, or later; rejects if not now. */
  async #save(slot: string, record: KeyedRecord, ttlMs: number, over: () => void): Promise<void> {
    try {
      await this.#write(slot, record, ttlMs);
      over();
    } catch (error) {
      const reason = error instanceof StoreError ? error.reason : 'unsupported';
      // An answer that the store will not have: its key says at least that there was one.
      const kept = reason === 'full' || reason === 'too_large' ? droppedOf(record) : record;
      this.#unsaved.set(slot, record);
      const again = () => this.#write(slot, kept, ttlMs);
      if (reason === 'closed' || !this.#later.add(again, over)) over();
      throw error;
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
    if (replicas !== undefined && replicas.keepsOrder !== true) await kept;
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
    const claim = this.#claims.letGo(slot);
    try {
      if (claim === undefined) await this.#parts.keys.remove(slot);
      else await this.#claims.withdraw(slot, claim);
    } finally {
      (await this.#index()).forget(slot);
    }
  }

  async close(): Promise<void> {
    await this.#later.close();
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
    const outcome =
      state === 'answered'
        ? await storedOutcome(await this.#parts.answers(), slot)
        : ({ kind: state === 'dropped' ? state : 'begun' } as const);
    return { owner, fingerprint, outcome };
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
      isStoredKey(value) && value.state !== 'withdrawn' ? [{ key, value }] : [],
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

function droppedOf(record: KeyedRecord): KeyedRecord {
  return { ...record, outcome: { kind: 'dropped' } };
}

function damaged(): Fault {
  return new Fault(
    'overloaded',
    'the idempotency keys cannot be kept, or some of them are lost, so that a call could run twice; call without a key, or see what is wrong: holdfast status',
  );
}
