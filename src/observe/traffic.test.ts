import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { Fault } from '../kernel/fault.ts';
import { operationKey, otherOperations, Traffic } from './traffic.ts';

const echo = 'tools/call:demo/echo';

function traffic() {
  return new Traffic(new ManualClock(1_000));
}

describe('the key of an operation', () => {
  test('is the method', () => {
    expect(operationKey('tools/list')).toBe('tools/list');
  });

  test('is the tool for a call of one', () => {
    expect(operationKey('tools/call', 'demo', 'echo')).toBe(echo);
  });
});

describe('the counters', () => {
  test('count a request before it is known how it ends', () => {
    const counted = traffic();
    counted.began();
    expect(counted.snapshot()).toMatchObject({
      requests: 1,
      inFlight: 1,
      successes: 0,
      methods: [],
    });
  });

  test('count each way to end, in total and by operation', () => {
    const counted = traffic();
    for (const outcome of ['ok', 'ok', 'response_error', 'transport_fault', 'cancelled'] as const) {
      counted.began();
      counted.ended(echo, outcome, 1);
    }
    const ways = { successes: 2, responseErrors: 1, transportFaults: 1, cancelled: 1 };
    expect(counted.snapshot()).toMatchObject({ requests: 5, inFlight: 0, ...ways });
    expect(counted.snapshot().methods).toMatchObject([{ method: echo, requests: 5, ...ways }]);
  });

  test('count retries, in total and by operation', () => {
    const counted = traffic();
    counted.retried(echo);
    counted.retried('resources/read');
    expect(counted.snapshot().retries).toBe(2);
    expect(counted.snapshot().methods.map(({ method, retries }) => [method, retries])).toEqual([
      ['resources/read', 1],
      [echo, 1],
    ]);
  });

  test('keep the total, the average, the longest and the last latency', () => {
    const counted = traffic();
    counted.ended(echo, 'ok', 10);
    counted.ended(echo, 'ok', 30);
    counted.ended(echo, 'ok', 2.004);
    const latency = { totalMs: 42, averageMs: 14, maxMs: 30, lastMs: 2 };
    expect(counted.snapshot().latency).toEqual(latency);
    expect(counted.snapshot().methods[0]?.latency).toEqual(latency);
  });

  test.each([-5, Number.NaN, Number.NEGATIVE_INFINITY])('take a latency of %d for none', (ms) => {
    const counted = traffic();
    counted.ended(echo, 'ok', 7);
    counted.ended(echo, 'ok', ms);
    expect(counted.snapshot().latency).toMatchObject({ totalMs: 7, maxMs: 7, lastMs: 0 });
  });

  test('saturate instead of overflowing', () => {
    const counted = traffic();
    counted.ended(echo, 'ok', Number.POSITIVE_INFINITY);
    counted.ended(echo, 'ok', Number.MAX_VALUE);
    expect(counted.snapshot().latency).toMatchObject({
      totalMs: Number.MAX_SAFE_INTEGER,
      maxMs: Number.MAX_SAFE_INTEGER,
    });
  });

  test('never show fewer than no requests on their way', () => {
    const counted = traffic();
    counted.ended('ping', 'ok', 1);
    expect(counted.snapshot().inFlight).toBe(0);
  });

  test('keep the generation of the server that answered last', () => {
    const counted = traffic();
    counted.ended(echo, 'ok', 1, 'server', 4);
    counted.ended(echo, 'ok', 1);
    expect(counted.snapshot().methods[0]?.generation).toBe(4);
    counted.failed(echo, new Fault('timeout', 'too slow', { generation: 5 }), 1);
    expect(counted.snapshot().methods[0]?.generation).toBe(5);
  });

  test('rank by requests, then faults, then errors, then name', () => {
    const counted = traffic();
    const end = (method: string, ...outcomes: Parameters<Traffic['ended']>[1][]) => {
      for (const outcome of outcomes) counted.ended(method, outcome, 1);
    };
    end('d', 'ok');
    end('c', 'ok');
    end('b', 'response_error');
    end('a', 'transport_fault');
    end('z', 'ok', 'ok');
    expect(counted.snapshot().methods.map(({ method }) => method)).toEqual([
      'z',
      'a',
      'b',
      'c',
      'd',
    ]);
  });
});

describe('names that a client chooses', () => {
  test('are kept up to a number, and counted together beyond it', () => {
    const counted = traffic();
    for (let index = 0; index < 1_500; index++) counted.ended(`x/${index}`, 'ok', 1);
    const { methods, successes } = counted.snapshot();
    expect(methods).toHaveLength(1_001);
    expect(methods[0]).toMatchObject({ method: otherOperations, requests: 500 });
    expect(successes).toBe(1_500);
  });

  test('still find their own counters after the bound is reached', () => {
    const counted = traffic();
    for (let index = 0; index < 1_500; index++) counted.ended(`x/${index}`, 'ok', 1);
    counted.ended('x/0', 'ok', 1);
    expect(counted.snapshot().methods.find(({ method }) => method === 'x/0')?.requests).toBe(2);
  });

  test('are not kept when they are long', () => {
    const counted = traffic();
    counted.ended('m'.repeat(5_000_000), 'ok', 1);
    expect(counted.snapshot().methods).toMatchObject([{ method: otherOperations, requests: 1 }]);
  });

  test.each(['__proto__', 'constructor', 'other'])('may be %s', (method) => {
    const counted = traffic();
    counted.ended(method, 'ok', 1);
    expect(counted.snapshot().methods).toMatchObject([{ method, requests: 1 }]);
  });
});

describe('the last fault', () => {
  test('stays with its time, whatever succeeds after it', () => {
    const clock = new ManualClock(1_000);
    const counted = new Traffic(clock);
    counted.failed(echo, new Fault('unavailable', 'it is gone', { server: 'demo' }), 3);
    clock.advance(60_000);
    counted.ended(echo, 'ok', 1);
    expect(counted.lastFault).toMatchObject({ code: 'unavailable', server: 'demo', at: 1_000 });
    expect(counted.snapshot()).toMatchObject({ transportFaults: 1, successes: 1 });
  });

  test.each(['not_found', 'invalid_request', 'rpc_error', 'denied'] as const)(
    'is not %s: that is an answer',
    (code) => {
      const counted = traffic();
      counted.failed(echo, new Fault(code, 'no'), 1);
      expect(counted.lastFault).toBeNull();
      expect(counted.snapshot()).toMatchObject({ responseErrors: 1, transportFaults: 0 });
    },
  );

  test('is not a call that its client called off', () => {
    const counted = traffic();
    counted.failed(echo, new Fault('cancelled', 'the caller gave up'), 1);
    expect(counted.lastFault).toBeNull();
    expect(counted.snapshot()).toMatchObject({ cancelled: 1, responseErrors: 0 });
  });

  test.each(['circuit_open', 'ejected', 'draining'] as const)(
    'is not hidden by %s, which only follows from it',
    (code) => {
      const counted = traffic();
      counted.failed(echo, new Fault('timeout', 'too slow'), 1);
      counted.failed(echo, new Fault(code, 'refused'), 1);
      expect(counted.lastFault?.code).toBe('timeout');
      expect(counted.snapshot().transportFaults).toBe(2);
    },
  );

  test('is a defect of ours, too', () => {
    const counted = traffic();
    counted.failed('tools/list', new Fault('internal', 'a defect'), 1);
    expect(counted.lastFault?.code).toBe('internal');
  });
});
