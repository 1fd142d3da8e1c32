import { describe, expect, it } from 'vitest';
import { nearestWord } from './nearest-word.ts';

const keys = ['command', 'args', 'env', 'cwd', 'callTimeoutMs', 'maxCallMs', 'url'];

describe('the nearestWord known word', () => {
  it.each([
    ['comand', 'command'],
    ['commnad', 'command'],
    ['Command', 'command'],
    ['arg', 'args'],
    ['callTimeout', 'callTimeoutMs'],
    ['evn', 'env'],
    ['ulr', 'url'],
    ['timeout', 'callTimeoutMs'],
  ])('for %s is %s', (word, known) => expect(nearestWord(word, keys)).toBe(known));

  it.each(['zzzzzz', 'isolation', 'q', 'command'.repeat(100_000)])(
    'for %.20s is none at all',
    (word) => {
      expect(nearestWord(word, keys)).toBeUndefined();
    },
  );
});
