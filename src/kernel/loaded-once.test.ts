// What is loaded once, and again only if it could not be.

import { expect, it } from 'vitest';
import { loadedOnce } from './loaded-once.ts';

it('is loaded once for all who need it', async () => {
  let times = 0;
  const load = loadedOnce(async () => {
    times += 1;
    return { times };
  });
  const both = await Promise.all([load(), load()]);
  expect(await load()).toBe(both[0]);
  expect(both[1]).toBe(both[0]);
  expect(times).toBe(1);
});

it('is loaded again after it could not be loaded', async () => {
  let times = 0;
  const load = loadedOnce(async () => {
    times += 1;
    if (times === 1) throw new Error('too many open files');
    return 'loaded';
  });
  await expect(load()).rejects.toThrow('too many open files');
  expect(await load()).toBe('loaded');
});
