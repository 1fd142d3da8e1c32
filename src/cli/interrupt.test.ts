import { EventEmitter, getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Interrupt, type SignalSource } from './interrupt.ts';

/** What a pid-holder says to the process whose interrupt this is. */
function below(interrupt: Interrupt) {
  let said: Parameters<SignalSource['listen']>[0] | undefined;
  const listen: SignalSource['listen'] = (news) => {
    said = news;
  };
  interrupt.listen(new EventEmitter() as NodeJS.Process, { listen });
  return { hangUp: () => said?.hangup() };
}

describe('a hangup of the pid-holder', () => {
  it('that comes while the process still loads waits, and ends nothing #pid-holder', () => {
    const interrupt = new Interrupt();
    const holder = below(interrupt);
    holder.hangUp();
    expect(interrupt.exitCode).toBeUndefined();
    let hangups = 0;
    interrupt.hangup = () => {
      hangups += 1;
    };
    expect(hangups).toBe(1);
    holder.hangUp();
    expect(hangups).toBe(2);
    expect(interrupt.signal.aborted).toBe(false);
  });
});

describe('an interrupt', () => {
  it('can be waited for again and again at the cost of one listener', () => {
    const interrupt = new Interrupt();
    const waits = Array.from({ length: 100 }, () => interrupt.arrived);
    expect(new Set(waits).size).toBe(1);
    expect(getEventListeners(interrupt.signal, 'abort')).toHaveLength(1);
  });
});
