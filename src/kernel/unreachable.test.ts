// What is said of a server that cannot be reached: the cause, and a next step.

import { describe, expect, it } from 'vitest';
import { unreachableWords } from './unreachable.ts';

describe('a server that cannot be reached', () => {
  it.each([
    ['ECONNREFUSED', 'nothing listens there; start the broker, or correct the address'],
    ['ENOTFOUND', 'the host name is not known here; correct the address'],
    ['ETIMEDOUT', 'check the address and the network'],
  ])('is named with the cause and a next step: %s #command-line', (code, words) => {
    expect(unreachableWords('ws://x:1/', code, 'the broker')).toBe(
      `ws://x:1/ cannot be reached (${code}): ${words}`,
    );
  });
});
