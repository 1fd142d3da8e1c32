// What a broker keeps on its disk: letters that were delivered and are not acknowledged. They are written to a log
// of the store, one entry for everything that came while the previous entry was being written, so that one
// synchronisation of the disk serves many senders. An entry has letters that came and numbers of letters that are
// done with. Where few of the letters in the log are left, those that are left are written again, and the rest of
// the log is removed. A letter that is done with before it was written is never written.

import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../store/contract/log.ts';
import { nextEntry, type WaitingLetter } from './next-entry.ts';
import { bytesOfEntry, type Entry, entryIn } from './stored-entry.ts';
import type { StoredLetter } from './stored-letter.ts';
import { momentMs, WritePace } from './write-pace.ts';

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Pending extends Waiting, WaitingLetter {
  readonly number: number;
  /** Made when it is written: many are done with before that. */
  readonly letter: () => StoredLetter;
}

/** Entries, or bytes of letters, that may be in the log before it is looked whether most of it can go. */
const compactAfter = 4_096;
const compactAfterBytes = 64 * 1024 * 1024;
/** Bytes of letters in one entry: it is in memory as a whole. */
const entryBytes = 4 * 1024 * 1024;

export interface LoadedInbox {
  readonly letters: readonly StoredLetter[];
  /** Entries that are none of ours. */
  readonly unreadable: number;
  /** Larger than every number in the log. */
  readonly nextNumber: number;
}

export class Inbox {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #pace = new WritePace();
  /** Letters to be written, by number, until the next write of the disk. */
  #put = new Map<number, Pending>();
  #done: { readonly number: number; readonly waiting: Waiting }[] = [];
  /** The size of each kept letter that is in the log; one for each letter that the hub holds. */
  readonly #sizes = new Map<number, number>();
  /** Of letters in the log, and of those among them that are kept. */
  #logBytes = 0;
  #keptBytes = 0;
  #writing: Promise<void> | undefined;
  #firstEntry = 0;
  #nextEntry = 0;
  /** Not before this entry. */
  #compactFrom = 0;
  /** For writing again: what is kept, by number; the hub's own letters. */
  readonly #letterOf: (number: number) => StoredLetter | undefined;

  constructor(log: Log, clock: Clock, letterOf: (number: number) => StoredLetter | undefined) {
    this.#log = log;
    this.#clock = clock;
    this.#letterOf = letterOf;
  }

  /** What an earlier process has left, in the order in which it came. */
  async load(): Promise<LoadedInbox> {
    const letters = new Map<number, StoredLetter>();
    const { first, next } = await this.#log.range();
    this.#firstEntry = first;
    this.#nextEntry = next;
    let unreadable = 0;
    let last = 0;
    for (let from = first; ; ) {
      const page = await this.#log.read({ from, limit: 256 });
      const end = page.at(-1);
      if (end === undefined) break;
      for (const { value } of page) {
        const entry = entryIn(value);
        if (entry === undefined) {
          unreadable += 1;
          continue;
        }
        for (const number of [...entry.put.map((one) => one.number), ...entry.done]) {
          last = Math.max(last, number);
        }
        for (const letter of entry.put) letters.set(letter.number, letter);
        for (const number of entry.done) letters.delete(number);
        this.#note(entry);
      }
      from = end.sequence + 1;
    }
    const sorted = [...letters.values()].sort((one, other) => one.number - other.number);
    return { letters: sorted, unreadable, nextNumber: last + 1 };
  }

  /** Resolves when it is on the disk, or done with. Rejects with a StoreError. */
  put(number: number, { to, bytes }: WaitingLetter, letter: () => StoredLetter): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#put.set(number, { number, to, bytes, letter, resolve, reject });
      this.#pace.came();
      this.#write();
    });
  }

  /** Resolves when the disk knows that it is done with. Rejects with a StoreError. */
  done(number: number): Promise<void> {
    const pending = this.#put.get(number);
    this.#pace.done(number, pending === undefined, this.#clock.now());
    if (pending !== undefined) {
      this.#put.delete(number);
      pending.resolve();
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      this.#done.push({ number, waiting: { resolve, reject } });
      this.#write();
    });
  }

  /** When nothing is being written any more. */
  async settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      // Something may have come after the last look.
      if (this.#put.size > 0 || this.#done.length > 0) this.#write();
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#put.size > 0 || this.#done.length > 0) {
      // What comes in the same turn, or in the same moment, is written together. Nobody waits for what is done with.
      if (this.#pace.waits || this.#put.size === 0) await this.#moment();
      else await new Promise((resolve) => setImmediate(resolve));
      await this.#writeOne();
      await this.#compact();
    }
  }

  #moment(): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(momentMs, resolve));
  }

  async #writeOne(): Promise<void> {
    const { put, letters } = this.#nextPut();
    const done = this.#done;
    this.#done = [];
    this.#pace.writes(put[0]?.number, this.#clock.now());
    if (put.length === 0 && done.length === 0) return;
    const waiting: readonly Waiting[] = [...put, ...done.map((one) => one.waiting)];
    try {
      await this.#append({ put: letters, done: done.map(({ number }) => number) });
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  /** Taken from those that wait, up to the size of one entry, as they are stored. */
  #nextPut(): { readonly put: readonly Pending[]; readonly letters: readonly StoredLetter[] } {
    const put = nextEntry(this.#put.values(), entryBytes);
    const letters = put.map(({ letter }) => letter());
    if (put.length === this.#put.size) this.#put = new Map();
    else for (const { number } of put) this.#put.delete(number);
    return { put, letters };
  }

  async #append(entry: Entry): Promise<void> {
    const sequence = await this.#log.append(bytesOfEntry(entry));
    this.#nextEntry = sequence + 1;
    this.#note(entry);
  }

  #note({ put, done }: Entry): void {
    for (const { number, body } of put) {
      this.#logBytes += body.length;
      if (!this.#sizes.has(number)) this.#keptBytes += body.length;
      this.#sizes.set(number, body.length);
    }
    for (const number of done) {
      this.#keptBytes -= this.#sizes.get(number) ?? 0;
      this.#sizes.delete(number);
    }
  }

  get #isMostlyDone(): boolean {
    if (this.#nextEntry < this.#compactFrom) return false;
    const entries = this.#nextEntry - this.#firstEntry;
    const hasManyEntries = entries >= compactAfter && this.#sizes.size <= entries;
    return (
      hasManyEntries ||
      (this.#logBytes >= compactAfterBytes && this.#keptBytes * 2 <= this.#logBytes)
    );
  }

  /** Never rejects: a disk that refuses is known from what is written for others. */
  async #compact(): Promise<void> {
    if (!this.#isMostlyDone) return;
    try {
      const before = this.#nextEntry;
      const bytesBefore = this.#logBytes;
      for (const batch of batches([...this.#sizes.keys()], this.#letterOf)) {
        await this.#append({ put: batch, done: [] });
      }
      await this.#log.trim(before);
      this.#firstEntry = before;
      this.#logBytes -= bytesBefore;
    } catch {
      // Each attempt writes again what is kept: the next one is not soon.
      this.#compactFrom = this.#nextEntry + compactAfter;
    }
  }
}

function* batches(
  numbers: readonly number[],
  letterOf: (number: number) => StoredLetter | undefined,
): Iterable<readonly StoredLetter[]> {
  let batch: StoredLetter[] = [];
  let bytes = 0;
  for (const number of numbers) {
    const letter = letterOf(number);
    if (letter === undefined) continue;
    batch.push(letter);
    bytes += letter.body.length;
    if (bytes < entryBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
