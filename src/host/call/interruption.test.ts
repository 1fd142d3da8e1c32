import { describe, expect, it } from 'vitest';
import { Fault } from '../../kernel/fault.ts';
import { Interruption } from './interruption.ts';

const enough = new Fault('cancelled', 'enough');
const tooLate = new Fault('timeout', 'too late');

function hand() {
  const faults: Fault[] = [];
  return { faults, cancel: (fault: Fault) => void faults.push(fault) };
}

describe('an interruption', () => {
  it('ends whatever the call waits for at that moment, and only that', () => {
    const interruption = new Interruption();
    const [before, now] = [hand(), hand()];
    interruption.interrupts(before);
    interruption.interrupts(now);
    interruption.raise(enough);
    expect([before.faults, now.faults]).toEqual([[], [enough]]);
  });

  it('lets nothing begin that would wait afterwards', async () => {
    const interruption = new Interruption();
    interruption.raise(enough);
    const later = hand();
    interruption.interrupts(later);
    expect(later.faults).toEqual([enough]);
    await expect(interruption.of(Promise.resolve(1))).rejects.toBe(enough);
  });

  it('is raised once: the first reason is the reason', () => {
    const interruption = new Interruption();
    const waiting = hand();
    interruption.interrupts(waiting);
    interruption.raise(enough);
    interruption.raise(tooLate);
    expect(waiting.faults).toEqual([enough]);
  });

  it('does not touch work that is done', async () => {
    const interruption = new Interruption();
    expect(await interruption.of(Promise.resolve(7))).toBe(7);
    await expect(interruption.of(Promise.reject(tooLate))).rejects.toBe(tooLate);
    interruption.raise(enough);
  });

  it('leaves work to itself that goes on, and its failure unnoticed', async () => {
    const interruption = new Interruption();
    let fail: (error: Error) => void = () => {};
    const work = new Promise<void>((_resolve, reject) => {
      fail = reject;
    });
    const waiting = interruption.of(work);
    interruption.raise(enough);
    await expect(waiting).rejects.toBe(enough);
    fail(new Error('nobody listens'));
    await expect(work).rejects.toThrow();
  });
});
