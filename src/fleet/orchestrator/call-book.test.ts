// The answers that an orchestrator keeps for its workers. A manual clock; calls that are answered as the gateway does.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import type { Link, Mail } from '../../broker/contract.ts';
import { BrokeredCall } from './brokered-call.ts';
import { CallBook } from './call-book.ts';

const limits = { runningOfWorker: 4, answered: 100, answeredBytes: 1_000, answeredMs: 60_000 };

function book() {
  const clock = manualClock();
  const calls = new CallBook(
    clock,
    (error) => {
      throw error;
    },
    limits,
  );
  const link = { tell: () => {} } as Partial<Link> as Link;
  const answer = (worker: string, key: string, bytes: number) => {
    const from = { mailbox: worker, seat: 's', role: null };
    const mail = { id: key, from, isKept: false } as Partial<Mail> as Mail;
    const call = new BrokeredCall(key, link, mail, clock, calls);
    calls.admit(call);
    call.answer(['x'.repeat(bytes)]);
  };
  const kept = (...keys: string[]) => keys.filter((key) => calls.get(key) !== undefined);
  return { clock, answer, kept };
}

describe('the answers that are kept for workers', () => {
  it('of one that does not fetch them take no room of those of others #no-growth', () => {
    const { answer, kept } = book();
    answer('well', 'w', 400);
    for (const key of ['a', 'b', 'c', 'd']) answer('slow', key, 300);
    expect(kept('w', 'a', 'b', 'c', 'd')).toEqual(['w', 'c', 'd']);
  });

  it('of one that has many small ones take no room of those of others #no-growth', () => {
    const { answer, kept } = book();
    answer('well', 'w', 1);
    const keys = Array.from({ length: limits.answered + 20 }, (_, at) => `k${at}`);
    for (const key of keys) answer('busy', key, 1);
    answer('late', 'l', 1);
    expect(kept('w', 'l')).toEqual(['w', 'l']);
    expect(kept(...keys)).toEqual(keys.slice(-(limits.answered - 2)));
  });

  it('of as many workers as there is room for make room for the next one #no-growth', () => {
    const { answer, kept } = book();
    const keys = Array.from({ length: limits.answered + 1 }, (_, at) => `k${at}`);
    for (const key of keys) answer(`worker of ${key}`, key, 1);
    expect(kept(...keys)).toEqual(keys.slice(1));
  });

  it('end after their time, and the last one is kept until then, however large #no-growth', () => {
    const { clock, answer, kept } = book();
    answer('slow', 'a', 5_000);
    expect(kept('a')).toEqual(['a']);
    clock.advance(60_000);
    expect(kept('a')).toEqual([]);
  });
});
