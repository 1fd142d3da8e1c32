import { describe, expect, it } from 'vitest';
import { nearest } from './nearest.ts';

const keys = ['command', 'args', 'env', 'cwd', 'callTimeoutMs', 'maxCallMs', 'url'];

describe('the nearest known word', () => {
  it.each([
    ['comand', 'command'],
    ['commnad', 'command'],
    ['Command', 'command'],
    ['arg', 'args'],
    ['callTimeout', 'callTimeoutMs'],
    ['evn', 'env'],
    ['ulr', 'url'],
    ['timeout', 'callTimeoutMs'],
  ])('for %s is %s', (word, known) => expect(nearest(word, keys)).toBe(known));

  it.each(['zzzzzz', 'isolation', 'q', 'command'.repeat(100_000)])(
    'for %.20s is none at all',
    (word) => {
      expect(nearest(word, keys)).toBeUndefined();
    },
  );
});
