import { expect, test } from 'vitest';
import { ageText, nameWord, quoted } from './line-words.ts';

test.each([
  [-5_000, '0s'],
  [0, '0s'],
  [999, '0s'],
  [59_999, '59s'],
  [60_000, '1m'],
  [3_599_999, '59m'],
  [3_600_000, '1h'],
  [86_399_999, '23h'],
  [172_800_000, '2d'],
])('%d ms is %s', (ms, text) => {
  expect(ageText(ms)).toBe(text);
});

test.each(['tools/call:files/read_file', 'notifications/x', 'größe', '読む', 'a.b-c@1$'])(
  '%s is one word',
  (name) => {
    expect(nameWord(name)).toBe(name);
  },
);

test.each([
  ['', '""'],
  ['a b', '"a b"'],
  ['a=1', '"a=1"'],
  ['a\nb', '"a\\nb"'],
  ['a"b', '"a\\"b"'],
  ['a\u202eb', '"a\\u202eb"'],
])('%j is not, and is put in quotes', (name, word) => {
  expect(nameWord(name)).toBe(word);
});

test('a quotation is cut where it is long', () => {
  expect(quoted('x'.repeat(1_000))).toBe(`"${'x'.repeat(59)}…"`);
});
