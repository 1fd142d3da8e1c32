import { describe, expect, it } from 'vitest';
import { repeatedHeader } from './repeated-header.ts';

describe('a header that means something only once', () => {
  it.each(['Host', 'Content-Type', 'Authorization'])(
    'is noticed when it is repeated: %s',
    (name) => {
      const once = ['Host', 'a', 'Content-Type', 'b', 'Authorization', 'c', 'Accept', 'd'];
      expect(repeatedHeader(once)).toBeUndefined();
      expect(repeatedHeader([...once, name.toUpperCase(), 'x'])).toBe(name.toUpperCase());
    },
  );

  it('is distinguished from others of the same length', () => {
    expect(repeatedHeader(['From', 'a', 'From', 'b', 'Host', 'c'])).toBeUndefined();
  });
});
