// What the inbox writes: entries of limited size, and no more log than is needed. A log in memory that counts.

import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { Inbox } from './inbox.ts';
import type { StoredLetter } from './stored-letter.ts';
import { momentMs } from './write-pace.ts';

const mebibyte = 1024 * 1024;

function stored(number: number, bytes: number): StoredLetter {
  const from = { mailbox: 'boss', seat: 's', role: null };
  const common = { to: 'ann.mcp', seat: null, kind: 'note', about: null, expiresAt: null };
  return { number, id: `id-${number}`, from, ...common, body: Buffer.alloc(bytes, 'x') };
}

function inbox() {
  const clock = manualClock();
  const store = new MemoryStore({ clock, claims: 'durable', maxBytes: 2 ** 30 });
  const log = store.log('letters', { durability: 'durable' });
  const kept = new Map<number, StoredLetter>();
  const sizes: number[] = [];
  const watched = {
    append: (value: unknown) => {
      sizes.push((value as Buffer).length);
      return log.append(value);
    },
    read: log.read.bind(log),
    trim: log.trim.bind(log),
    range: log.range.bind(log),
  };
  const own = new Inbox(watched, clock, (number) => kept.get(number));
  const put = (letter: StoredLetter) => {
    kept.set(letter.number, letter);
    return own.put(letter.number, { to: letter.to, bytes: letter.body.length }, () => letter);
  };
  const done = (number: number) => {
    kept.delete(number);
    return own.done(number);
  };
  const loaded = async () => {
    const { letters } = await new Inbox(log, clock, () => undefined).load();
    return letters.map(({ number }) => number);
  };
  /** It may be written a moment later. */
  const rested = async (work: Promise<void>) => {
    await clock.advanceAsync(momentMs);
    await work;
  };
  return { own, put, done, log, sizes, loaded, rested };
}

describe('the inbox', () => {
  it('writes what comes at once in entries of a few mebibytes #no-growth', async () => {
    const { put, sizes, loaded } = inbox();
    await Promise.all(Array.from({ length: 40 }, (_, at) => put(stored(at + 1, mebibyte))));
    expect(Math.max(...sizes)).toBeLessThan(6 * mebibyte);
    expect(await loaded()).toHaveLength(40);
  });

  it('writes small letters that come at once in one entry', async () => {
    const { put, sizes } = inbox();
    await Promise.all(Array.from({ length: 500 }, (_, at) => put(stored(at + 1, 100))));
    expect(sizes).toHaveLength(1);
  });

  it('removes large letters that are done with from the log, and keeps the others #no-growth', async () => {
    const { put, done, log, loaded, own, rested } = inbox();
    await put(stored(1, 100));
    for (let number = 2; number <= 150; number += 1) {
      await rested(put(stored(number, mebibyte)));
      await rested(done(number));
    }
    await own.settled();
    const { first, next } = await log.range();
    // Two entries for each mebibyte, of at most 64 and a few more.
    expect(next - first).toBeLessThan(140);
    expect(await loaded()).toEqual([1]);
  });

  it('removes many small entries, and keeps what is left #no-growth', async () => {
    const { put, done, log, loaded, own, rested } = inbox();
    await put(stored(1, 10));
    for (let number = 2; number <= 3_000; number += 1) {
      await rested(put(stored(number, 10)));
      await rested(done(number));
    }
    await own.settled();
    const { first, next } = await log.range();
    expect(next - first).toBeLessThan(4_096);
    expect(await loaded()).toEqual([1]);
  });

  it('writes what comes while it finishes, whenever that is #broker-durable', async () => {
    for (let turns = 0; turns < 20; turns += 1) {
      const { put, own, loaded } = inbox();
      await put(stored(1, 10));
      // One of these counts of microtasks is the very end of the write.
      for (let turn = 0; turn < turns; turn += 1) await null;
      const late = put(stored(2, 10));
      await settled();
      await own.settled();
      expect(await loaded(), `after ${turns} turns`).toEqual([1, 2]);
      await late;
    }
  });

  it('writes nothing of letters that quick readers are done with, and at once again when they are slow #broker-durable', async () => {
    const { put, done, sizes, own, rested, loaded } = inbox();
    for (const number of [1, 2]) {
      await put(stored(number, 10));
      await rested(done(number));
    }
    const before = sizes.length;
    for (let number = 3; number <= 20; number += 1) {
      const kept = put(stored(number, 10));
      await settled();
      await done(number);
      await kept;
    }
    await rested(own.settled());
    expect(sizes).toHaveLength(before);
    // Nobody reads this one: it is written a moment later, and the next one at once.
    await rested(put(stored(21, 10)));
    await put(stored(22, 10));
    expect(await loaded()).toEqual([21, 22]);
  });
});
