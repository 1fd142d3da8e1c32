// How many parts of answers may wait on one link, by worker and by what waits to be sent.

import { expect, it } from 'vitest';
import { PartsUnderWay } from './parts-under-way.ts';

const limits = { ofWorker: 2, backlogBytes: 1_000 };

it('a worker has a limited number of parts under way, and others are sent theirs #no-growth', () => {
  const parts = new PartsUnderWay(limits);
  expect([1, 2, 3].map((at) => parts.add('ann', 100, (at - 1) * 100))).toEqual([true, true, false]);
  expect(parts.add('bob', 100, 200)).toBe(true);
  // One of hers has left.
  expect([parts.add('ann', 100, 200), parts.add('ann', 100, 300)]).toEqual([true, false]);
  // All have left.
  expect([parts.add('ann', 100, 0), parts.add('ann', 100, 100)]).toEqual([true, true]);
});

it('a link that does not send what waits gets no more parts #no-growth', () => {
  const parts = new PartsUnderWay(limits);
  expect(parts.add('ann', 100, 1_001)).toBe(false);
  expect(parts.add('ann', 100, 1_000)).toBe(true);
});
