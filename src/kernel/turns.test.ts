import { describe, expect, it } from 'vitest';
import { Turns } from './turns.ts';

describe('work that takes turns', () => {
  it('is done so many at a time, in its order, also when some of it fails', async () => {
    const turns = new Turns(3);
    const order: number[] = [];
    let inside = 0;
    let most = 0;
    const work = async (count: number) => {
      inside += 1;
      most = Math.max(most, inside);
      order.push(count);
      await Promise.resolve();
      inside -= 1;
      if (count % 5 === 0) throw new Error(`${count}`);
      return count;
    };
    for (const start of [0, 20]) {
      const all = Array.from({ length: 20 }, (_, index) => turns.run(() => work(start + index)));
      const outcomes = await Promise.allSettled(all);
      expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(4);
    }
    expect(most).toBe(3);
    expect(order).toEqual(Array.from({ length: 40 }, (_, index) => index));
  });
});
