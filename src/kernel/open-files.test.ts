// How the descriptors of this process are shared out.

import { describe, expect, it } from 'vitest';
import { openFileShares, sharesOf } from './open-files.ts';

describe('the descriptors of a process', () => {
  it.each([
    [200, { strangers: 50, guests: 100 }],
    [1_024, { strangers: 256, guests: 512 }],
    [1_048_576, { strangers: 1_024, guests: 524_288 }],
    [20, { strangers: 16, guests: 16 }],
  ])('of which there are %i leave room for its own files', (most, shares) => {
    expect(sharesOf(most)).toEqual(shares);
  });

  it('are few where nobody says how many there are', () => {
    expect(openFileShares('/nowhere/limits')).toEqual(sharesOf(1_024));
    expect(openFileShares().guests).toBeGreaterThanOrEqual(16);
  });
});
