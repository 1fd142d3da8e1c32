import { describe, expect, it } from 'vitest';
import { ownValue } from './own-value.ts';

const inherited = Object.getOwnPropertyNames(Object.prototype);

describe('looking up a string in an object', () => {
  it.each(inherited)('does not find %s, which every object inherits', (name) => {
    expect(ownValue({ one: 1 }, name)).toBeUndefined();
  });

  it.each(inherited)('finds %s where it is the object’s own', (name) => {
    const object = Object.fromEntries([[name, 1]]);
    expect(ownValue(object, name)).toBe(1);
  });

  it('finds what is there', () => {
    expect([ownValue({ one: 1 }, 'one'), ownValue({ one: 1 }, 'two')]).toEqual([1, undefined]);
  });
});
