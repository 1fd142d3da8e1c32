import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Interrupt } from './interrupt.ts';

describe('an interrupt', () => {
  it('can be waited for again and again at the cost of one listener', () => {
    const interrupt = new Interrupt();
    const waits = Array.from({ length: 100 }, () => interrupt.arrived);
    expect(new Set(waits).size).toBe(1);
    expect(getEventListeners(interrupt.signal, 'abort')).toHaveLength(1);
  });
});
