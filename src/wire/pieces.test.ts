import { expect, it } from 'vitest';
import { joinPieces } from './pieces.ts';

it('pieces of text and bytes are joined in their order, all of them or some', () => {
  const pieces = ['é', Buffer.from('b'), '', '\u{1f600}'];
  expect(joinPieces(pieces).toString()).toBe('éb\u{1f600}');
  expect(joinPieces(pieces, 1, 3).toString()).toBe('b');
  expect(joinPieces([]).length).toBe(0);
});
