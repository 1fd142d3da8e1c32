// What is known to be missing in a stream, by what was found of it before.

import { describe, expect, it } from 'vitest';
import { StreamPast } from './stream-past.ts';

function past(): StreamPast {
  const made = new StreamPast();
  made.kept = 'first';
  made.found('first', 0);
  made.acknowledged('first', 7);
  return made;
}

describe('the past of a stream', () => {
  it('shows that it was made anew, once, and that the other is there again #store-nats', () => {
    const stream = past();
    expect([stream.found('second', 0), stream.isWhole]).toEqual(['other', false]);
    stream.acknowledged('second', 99);
    expect([stream.found('second', 99), stream.isWhole]).toEqual([undefined, false]);
    expect([stream.found('first', 7), stream.isWhole]).toEqual(['restored', true]);
    expect([stream.found('first', 8), stream.isWhole]).toEqual([undefined, true]);
  });

  it('shows that it was restored from before the end, which stays so when it is written to #store-nats', () => {
    const stream = past();
    expect(stream.found('second', 0)).toBe('other');
    expect([stream.found('first', 6), stream.isWhole]).toEqual(['short', false]);
    stream.acknowledged('first', 8);
    expect([stream.found('first', 8), stream.isWhole]).toEqual([undefined, false]);
    expect(stream.found('second', 0)).toBe('other');
    expect([stream.found('first', 8), stream.isWhole]).toEqual([undefined, false]);
  });
});
