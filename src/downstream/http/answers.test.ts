import { describe, expect, it } from 'vitest';
import { statusOf } from './answers.ts';

describe('the status of a modern answer', () => {
  it.each([
    [undefined, 200],
    [-32601, 404],
    [-32700, 400],
    [-32600, 400],
    [-32020, 400],
    [-32021, 400],
    [-32022, 400],
    [-32602, 200],
    [-32603, 200],
    [-32000, 200],
    [1, 200],
  ])('with the code %j is %i', (code, status) => {
    expect(statusOf(code)).toBe(status);
  });
});
