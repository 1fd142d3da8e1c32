// When the inbox waits a moment before it writes: after letters that were done with soon, and only then.

import { describe, expect, it } from 'vitest';
import { momentMs, WritePace } from './write-pace.ts';

describe('the pace of writing', () => {
  it('is at once at first, and where letters stay', () => {
    const pace = new WritePace();
    expect(pace.waits).toBe(false);
    for (let number = 1; number < 10; number += 1) {
      pace.came();
      pace.writes(number, number);
      expect(pace.waits).toBe(false);
    }
  });

  it('is a moment later where letters were done with before they were written, or right after', () => {
    for (const isWritten of [false, true]) {
      const pace = new WritePace();
      pace.came();
      if (isWritten) pace.writes(1, 10);
      pace.done(1, isWritten, 10 + momentMs);
      pace.came();
      pace.writes(2, 20);
      expect(pace.waits).toBe(true);
    }
  });

  it('is at once where they were done with later, or are of an earlier write', () => {
    for (const [first, at] of [
      [1, 11 + momentMs],
      [2, 10],
    ] as const) {
      const pace = new WritePace();
      pace.came();
      pace.writes(first, 10);
      pace.done(1, true, at);
      pace.came();
      pace.writes(3, 20);
      expect(pace.waits).toBe(false);
    }
  });

  it('is at once again after one moment in which most letters stayed, and as before where none came', () => {
    const pace = new WritePace();
    pace.came();
    pace.done(1, false, 1);
    pace.writes(undefined, 1);
    pace.writes(undefined, 2);
    expect(pace.waits).toBe(true);
    for (let letter = 0; letter < 3; letter += 1) pace.came();
    pace.done(2, false, 3);
    pace.writes(3, 3);
    expect(pace.waits).toBe(false);
  });
});
