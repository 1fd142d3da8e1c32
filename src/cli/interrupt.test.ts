import { EventEmitter, getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Interrupt } from './interrupt.ts';

describe('an interrupt', () => {
  it('can be waited for again and again at the cost of one listener', () => {
    const interrupt = new Interrupt();
    const waits = Array.from({ length: 100 }, () => interrupt.arrived);
    expect(new Set(waits).size).toBe(1);
    expect(getEventListeners(interrupt.signal, 'abort')).toHaveLength(1);
  });

  it('is not what a hangup is that comes from a holder: that waits until somebody knows what it does #pid-holder', () => {
    const interrupt = new Interrupt();
    let hangUp = () => {};
    const holder = {
      listen: ({ hangup }: { readonly hangup: () => void }) => {
        hangUp = hangup;
      },
    };
    const here = Object.assign(new EventEmitter(), { pid: 1 });
    interrupt.listen(here as unknown as NodeJS.Process, holder);
    let rollouts = 0;
    hangUp();
    hangUp();
    expect(interrupt.signal.aborted).toBe(false);
    interrupt.onHangup(() => {
      rollouts += 1;
    });
    expect(rollouts).toBe(1);
    hangUp();
    expect([rollouts, interrupt.signal.aborted]).toEqual([2, false]);
  });
});
