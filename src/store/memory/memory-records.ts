// Records in memory. What is held is never what a caller has (`own-value.ts`).
// Every operation is synchronous inside, which makes it atomic.

import type {
  ConditionalPut,
  PutOptions,
  RecordEntry,
  Records,
  RecordsHeard,
  RecordsOptions,
  Version,
} from '../contract/records.ts';
import { StoreError } from '../store-error.ts';
import { leftUntil, type MovedRecord, type Moves, until } from './moved-value.ts';
import { heldValue, type OwnValue, ownValueOf, roomFor } from './own-value.ts';
import { type Held, type MemoryRoom, type Sweepable, textBytes, usualEntries } from './room.ts';

interface Kept {
  readonly own: OwnValue;
  readonly version: Version;
  readonly expiresAt: number;
  readonly held: Held;
}

export class MemoryRecords implements Records, Sweepable, Moves<MovedRecord> {
  readonly takesBytes = true;
  readonly #room: MemoryRoom;
  readonly #name: string;
  readonly #isForgetful: boolean;
  readonly #maxEntries: number;
  /** At most `maxEntries`; the one put longest ago comes first. */
  readonly #kept = new Map<string, Kept>();
  /** By listener, the prefix; until they dispose of it. */
  readonly #watching = new Map<RecordsHeard, string>();
  #changes = 0;
  /** Nothing in `#kept` ends before this. */
  #nextEnd = Number.POSITIVE_INFINITY;

  constructor(room: MemoryRoom, name: string, options: RecordsOptions) {
    this.#room = room;
    this.#name = name;
    this.#isForgetful = options.durability === 'forgetful';
    this.#maxEntries = options.maxEntries ?? usualEntries;
    room.add(this);
  }

  async get(key: string): Promise<RecordEntry | undefined> {
    this.#room.assertOpen();
    return this.#find(key);
  }

  async put(key: string, value: unknown, options?: PutOptions): Promise<Version> {
    this.#room.assertOpen();
    return this.#write(key, value, options);
  }

  async putIfAbsent(key: string, value: unknown, options?: PutOptions): Promise<ConditionalPut> {
    this.#room.assertOpen();
    const entry = this.#find(key);
    if (entry !== undefined) return { isPut: false, entry };
    return { isPut: true, version: this.#write(key, value, options) };
  }

  async compareAndSet(
    key: string,
    version: Version,
    value: unknown,
    options?: PutOptions,
  ): Promise<ConditionalPut> {
    this.#room.assertOpen();
    const entry = this.#find(key);
    if (entry?.version !== version) return { isPut: false, entry };
    return { isPut: true, version: this.#write(key, value, options) };
  }

  async remove(key: string): Promise<void> {
    this.#room.assertOpen();
    this.#forget(key);
    this.#tell(key);
  }

  async entries(prefix = ''): Promise<readonly RecordEntry[]> {
    this.#room.assertOpen();
    const keys = [...this.#kept.keys()].filter((key) => key.startsWith(prefix)).sort(byText);
    return keys.map((key) => this.#find(key)).filter((entry) => entry !== undefined);
  }

  async isWhole(): Promise<boolean> {
    this.#room.assertOpen();
    return true;
  }

  watch(prefix: string, heard: RecordsHeard): Disposable {
    const own: RecordsHeard = (change) => heard(change);
    this.#watching.set(own, prefix);
    return { [Symbol.dispose]: () => void this.#watching.delete(own) };
  }

  sweep(now: number): void {
    if (now < this.#nextEnd) return;
    this.#nextEnd = Number.POSITIVE_INFINITY;
    for (const [key, { expiresAt }] of this.#kept) {
      if (expiresAt <= now) this.#forget(key);
      else this.#nextEnd = Math.min(this.#nextEnd, expiresAt);
    }
  }

  *moved(): Iterable<MovedRecord> {
    const now = this.#room.clock.now();
    this.sweep(now);
    for (const [key, { own, version, expiresAt }] of this.#kept) {
      yield { key, own, version, leftMs: leftUntil(expiresAt, now) };
    }
  }

  /** In the version that it had, which no later change has. */
  takeOver({ key, own, version, leftMs }: MovedRecord): void {
    const held = this.#room.hold(textBytes(key) + roomFor(own), {
      drop: this.#isForgetful ? () => this.#kept.delete(key) : undefined,
      instead: this.#kept.get(key)?.held,
    });
    this.#changes = Math.max(this.#changes, Number(version) || 0);
    this.#forget(key);
    if (held === undefined) return;
    const expiresAt = until(leftMs, this.#room.clock.now());
    this.#nextEnd = Math.min(this.#nextEnd, expiresAt);
    this.#kept.set(key, { own, version, expiresAt, held });
  }

  /** Changes that others have made to what is not there any more have numbers, too. */
  get last(): number {
    return this.#changes;
  }

  set last(last: number) {
    this.#changes = Math.max(this.#changes, last);
  }

  #find(key: string): RecordEntry | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    const { own, version, expiresAt } = kept;
    if (this.#room.clock.now() < expiresAt) return { key, value: heldValue(own), version };
    this.#forget(key);
    return undefined;
  }

  #write(key: string, value: unknown, { ttlMs }: PutOptions = {}): Version {
    const own = ownValueOf(value);
    this.#makePlace(key);
    const held = this.#room.hold(textBytes(key) + roomFor(own), {
      drop: this.#isForgetful ? () => this.#kept.delete(key) : undefined,
      instead: this.#kept.get(key)?.held,
    });
    if (held === undefined && !this.#isForgetful) throw this.#full();
    this.#changes += 1;
    const version = String(this.#changes);
    this.#forget(key);
    // A value that is too large for a forgetful store by itself is dropped at once.
    if (held === undefined) {
      this.#tell(key);
      return version;
    }
    const expiresAt =
      ttlMs === undefined ? Number.POSITIVE_INFINITY : this.#room.clock.now() + ttlMs;
    this.#nextEnd = Math.min(this.#nextEnd, expiresAt);
    this.#kept.set(key, { own, version, expiresAt, held });
    this.#tell(key);
    return version;
  }

  #tell(key: string): void {
    for (const [heard, prefix] of this.#watching) {
      if (key.startsWith(prefix)) heard({ kind: 'changed', key });
    }
  }

  #makePlace(key: string): void {
    if (this.#kept.has(key) || this.#kept.size < this.#maxEntries) return;
    this.sweep(this.#room.clock.now());
    if (this.#kept.size < this.#maxEntries) return;
    const [oldest] = this.#kept.keys();
    if (!this.#isForgetful || oldest === undefined) throw this.#full();
    this.#forget(oldest);
  }

  #forget(key: string): void {
    this.#kept.get(key)?.held.release();
    this.#kept.delete(key);
  }

  #full(): StoreError {
    return new StoreError('full', `there is no room for another record of ${this.#name}`);
  }
}

function byText(one: string, other: string): number {
  return one < other ? -1 : 1;
}
