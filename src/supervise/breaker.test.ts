import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { Breaker } from './breaker.ts';

function newBreaker() {
  const clock = manualClock(5_000);
  const told: string[] = [];
  const breaker = new Breaker(
    clock,
    { threshold: 2, resetMs: 30_000, probeMs: 90_000 },
    (circuit) => told.push(circuit),
  );
  return { clock, told, breaker };
}

describe('the breaker of a server', () => {
  it('admits by a pass that is read without asking while it is closed', () => {
    const { breaker } = newBreaker();
    expect(breaker.openPass).toBe(breaker.currentPass);
    expect(breaker.ask()).toEqual({ kind: 'admit', pass: breaker.currentPass });
    expect(breaker.probeAt).toBeNull();
  });

  it('opens, says when the next probe may go, and becomes half open by the clock alone', () => {
    const { breaker, clock, told } = newBreaker();
    const pass = breaker.currentPass;
    breaker.failed(pass);
    breaker.failed(pass);
    expect(breaker.circuit).toBe('open');
    expect(breaker.failures).toBe(2);
    expect(breaker.probeAt).toBe(35_000);
    expect(breaker.openPass).toBeNull();
    clock.advance(29_999);
    expect(breaker.ask()).toEqual({ kind: 'refuse', retryAfterMs: 1 });
    clock.advance(1);
    expect(breaker.circuit).toBe('half_open');
    expect(told).toEqual(['open']);
    expect(clock.pending).toBe(0);
  });

  it('lets one of twenty through when it is half open, and closes by that one', () => {
    const { breaker, clock, told } = newBreaker();
    const early = breaker.currentPass;
    breaker.failed(early);
    breaker.failed(early);
    clock.advance(30_000);
    const admissions = Array.from({ length: 20 }, () => breaker.ask());
    const admitted = admissions.filter(({ kind }) => kind === 'admit');
    expect(admitted).toHaveLength(1);
    breaker.succeeded(early);
    expect(breaker.circuit).toBe('half_open');
    breaker.succeeded(breaker.currentPass);
    expect(breaker.circuit).toBe('closed');
    expect(breaker.failures).toBe(0);
    expect(told).toEqual(['open', 'half_open', 'closed']);
  });

  it('passes the slot on when its holder cancelled', () => {
    const { breaker, clock } = newBreaker();
    breaker.failed(breaker.currentPass);
    breaker.failed(breaker.currentPass);
    clock.advance(30_000);
    const first = breaker.ask();
    breaker.withdrawn(first.kind === 'admit' ? first.pass : -1);
    expect(breaker.ask().kind).toBe('admit');
  });

  it('forgets everything by a reset', () => {
    const { breaker } = newBreaker();
    breaker.failed(breaker.currentPass);
    breaker.failed(breaker.currentPass);
    breaker.reset();
    expect([breaker.circuit, breaker.failures]).toEqual(['closed', 0]);
  });

  it('counts failures in a row: a success between them starts over', () => {
    const { breaker } = newBreaker();
    breaker.failed(breaker.currentPass);
    breaker.succeeded(breaker.currentPass);
    breaker.failed(breaker.currentPass);
    expect([breaker.circuit, breaker.failures]).toEqual(['closed', 1]);
  });
});
