import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { Leases } from './leases.ts';

function newLeases(keepAliveMs = 300_000) {
  const clock = manualClock();
  let unwanted = 0;
  const leases = new Leases(clock, keepAliveMs, () => {
    unwanted += 1;
  });
  return { clock, leases, unwanted: () => unwanted };
}

describe('the leases of a server', () => {
  it('call it unwanted once, when nobody needed it for the whole keep-alive time (T8)', () => {
    const { clock, leases, unwanted } = newLeases();
    leases.hold();
    clock.advance(1_000_000);
    leases.release();
    expect(clock.foreground).toBe(0);
    clock.advance(299_999);
    expect(unwanted()).toBe(0);
    clock.advance(1);
    expect(unwanted()).toBe(1);
    clock.advance(1_000_000);
    expect(unwanted()).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it('start the time over with every use, on one timer', () => {
    const { clock, leases, unwanted } = newLeases();
    for (let use = 0; use < 50; use++) {
      leases.hold();
      clock.advance(10_000);
      leases.release();
      clock.advance(90_000);
      expect(clock.pending).toBeLessThanOrEqual(1);
    }
    expect(unwanted()).toBe(0);
    clock.advance(209_999);
    expect(unwanted()).toBe(0);
    clock.advance(1);
    expect(unwanted()).toBe(1);
  });

  it('call it unwanted at once without a keep-alive time', () => {
    const { leases, unwanted, clock } = newLeases(0);
    for (const count of [1, 2, 3]) {
      leases.hold();
      expect(leases.held).toBe(count);
    }
    for (const count of [2, 1]) {
      leases.release();
      expect([leases.held, leases.isWanted, unwanted()]).toEqual([count, true, 0]);
    }
    leases.release();
    expect([leases.held, unwanted()]).toEqual([0, 1]);
    expect(clock.pending).toBe(0);
  });

  it('count a lease that is released twice once: the other holder keeps its own (T7)', async () => {
    const { leases } = newLeases();
    leases.hold();
    const one = leases.name('files', 'skill:review');
    leases.hold();
    const other = leases.name('files', 'skill:test');
    expect(leases.owners).toEqual(['skill:review', 'skill:test']);
    one.release();
    one.release();
    await one[Symbol.asyncDispose]();
    expect(leases.held).toBe(1);
    expect(leases.isWanted).toBe(true);
    expect(leases.owners).toEqual(['skill:test']);
    await other[Symbol.asyncDispose]();
    expect(leases.isWanted).toBe(false);
    expect(leases.owners).toEqual([]);
  });

  it('tell two holders of the same name apart', () => {
    const { leases } = newLeases();
    leases.hold();
    leases.hold();
    const one = leases.name('files', 'agent');
    leases.name('files', 'agent');
    one.release();
    expect(leases.owners).toEqual(['agent']);
  });

  it('keep a pinned server whoever releases it, and show no number', () => {
    const { leases, clock, unwanted } = newLeases(0);
    leases.pin(true);
    leases.hold();
    leases.release();
    clock.advance(1e9);
    expect(unwanted()).toBe(0);
    expect([leases.isPinned, leases.held, leases.idleSince]).toEqual([true, 0, null]);
    leases.pin(false);
    expect(unwanted()).toBe(1);
  });

  it('do nothing when it is pinned or unpinned twice', () => {
    const { leases, clock, unwanted } = newLeases(0);
    leases.pin(false);
    expect(unwanted()).toBe(0);
    leases.pin(true);
    leases.pin(true);
    expect(clock.pending).toBe(0);
  });

  it('know since when it is unused', () => {
    const { leases, clock } = newLeases();
    expect(leases.idleSince).toBeNull();
    leases.hold();
    clock.advance(7);
    leases.release();
    expect(leases.idleSince).toBe(7);
  });

  it('leave no timer behind when they end, not even for a call that lets go afterwards', () => {
    const { leases, clock, unwanted } = newLeases();
    leases.hold();
    leases.release();
    leases.end();
    expect(clock.pending).toBe(0);
    leases.hold();
    leases.release();
    expect(clock.pending).toBe(0);

    const late = newLeases();
    late.leases.hold();
    late.leases.end();
    late.leases.release();
    expect(late.clock.pending).toBe(0);
    expect(unwanted()).toBe(0);
  });
});
