import { expect, it } from 'vitest';
import { isWithin } from './watched-address.ts';

it.each([
  ['file:///a', 'file:///a', true],
  ['file:///a/b', 'file:///a', true],
  ['file:///a/b', 'file:///a/', true],
  ['file:///a#part', 'file:///a', true],
  ['file:///ab', 'file:///a', false],
  ['file:///', 'file:///a', false],
])('%s is within %s: %s', (uri, watched, isIt) => {
  expect(isWithin(uri, watched)).toBe(isIt);
});
