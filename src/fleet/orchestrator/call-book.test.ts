// The answers that an orchestrator keeps for its workers. A manual clock; calls that are answered as the gateway does.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import type { Link, Mail } from '../../broker/contract.ts';
import { BrokeredCall } from './brokered-call.ts';
import { CallBook } from './call-book.ts';

const limits = {
  runningOfWorker: 4,
  runningBytesOfWorker: 1_000,
  waitingOfWorker: 2,
  answered: 100,
  answeredBytes: 1_000,
  answeredMs: 60_000,
  pulledMs: 150_000,
};

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
  const called = (worker: string, key: string, requestBytes = 0) => {
    const from = { mailbox: worker, seat: 's', role: null };
    const body = Buffer.alloc(requestBytes);
    const mail = { id: key, from, body, isKept: false, ack: () => {} } as Partial<Mail> as Mail;
    return new BrokeredCall({ key, digest: '' }, link, mail, clock, calls);
  };
  const answer = (worker: string, key: string, bytes: number) => {
    const call = called(worker, key);
    calls.admit(call);
    call.answer(['x'.repeat(bytes)]);
  };
  const kept = (...keys: string[]) => keys.filter((key) => calls.get(key) !== undefined);
  return { clock, calls, called, answer, kept };
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

  it('are kept while they are being pulled, but not for ever, and hold up no others #fleet #no-growth', () => {
    const { clock, calls, answer, kept } = book();
    answer('slow', 'a', 100);
    answer('well', 'w', 100);
    const pull = () => {
      const call = calls.get('a');
      if (call !== undefined) calls.pulled(call);
      return call !== undefined;
    };
    clock.advance(50_000);
    expect(pull()).toBe(true);
    clock.advance(50_000);
    expect([pull(), kept('w')]).toEqual([true, []]);
    clock.advance(49_999);
    expect(pull()).toBe(true);
    clock.advance(1);
    expect([pull(), kept('a')]).toEqual([false, []]);
  });
});

describe('the requests of a worker that run', () => {
  it('have a limited number of bytes, one is possible however large, and others have their own #no-growth', () => {
    const { calls, called } = book();
    const large = called('ann', 'a', 5_000);
    expect(calls.hasRoomFor(large)).toBe(true);
    calls.admit(large);
    expect(calls.hasRoomFor(called('ann', 'b', 1))).toBe(false);
    expect(calls.hasRoomFor(called('bob', 'c', 1_000))).toBe(true);
    large.answer(['done']);
    calls.admit(called('ann', 'd', 600));
    expect([400, 401].map((bytes) => calls.hasRoomFor(called('ann', 'e', bytes)))).toEqual([
      true,
      false,
    ]);
  });
});

describe('answers that the broker refuses for now', () => {
  it('wait for another try up to a number for each worker #no-growth', () => {
    const { calls, called } = book();
    const [one, two, three] = [called('ann', 'a'), called('ann', 'b'), called('ann', 'c')];
    expect([one, two, three].map((call) => calls.mayWait(call))).toEqual([true, true, false]);
    expect(calls.mayWait(called('bob', 'd'))).toBe(true);
    calls.hasWaited(one);
    expect([calls.mayWait(three), calls.mayWait(one)]).toEqual([true, false]);
  });
});
