import { expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { TrafficByPrincipal } from './traffic-by-principal.ts';

it('keeps a bounded number of principals, those that were used last #no-growth', () => {
  const own = new TrafficByPrincipal(new ManualClock());
  own.of('token:kept').began();
  for (let at = 0; at < 1_000; at += 1) {
    own.of(`token:${at}`).began();
    own.of('token:kept').began();
  }
  expect(own.size).toBe(256);
  expect(own.of('token:kept').snapshot().requests).toBe(1_001);
  expect(own.of('token:999').snapshot().requests).toBe(1);
  expect(own.of('token:0').snapshot().requests).toBe(0);
});

it('counts a bounded number of operations of each by name #no-growth', () => {
  const own = new TrafficByPrincipal(new ManualClock()).of('token:x');
  for (let at = 0; at < 1_000; at += 1) own.ended(`tools/call:s/t${at}`, 'ok', 1, 'server');
  expect(own.snapshot().methods).toHaveLength(101);
  expect(own.calls.total).toBe(1_000);
});
