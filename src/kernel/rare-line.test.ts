import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { RareLine } from './rare-line.ts';

describe('a line about what clients can cause', () => {
  it('is told at once, and then once a minute with the number of those between #no-growth', () => {
    const clock = manualClock();
    const told: string[] = [];
    let made = 0;
    const line = new RareLine(clock, (text) => told.push(text));
    const say = () =>
      line.say(() => {
        made += 1;
        return 'full';
      });
    say();
    expect(told).toEqual(['full']);
    for (let n = 0; n < 1_000; n += 1) say();
    clock.advance(59_999);
    say();
    expect([told.length, made]).toEqual([1, 1]);
    clock.advance(1);
    say();
    clock.advance(60_000);
    say();
    expect(told).toEqual(['full', 'full; 1001 more since the line before', 'full']);
  });
});
