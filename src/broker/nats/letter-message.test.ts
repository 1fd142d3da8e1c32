// By what a NATS server knows a letter that is sent again.

import { expect, it } from 'vitest';
import { duplicateIdOf } from './letter-message.ts';

const origin = Buffer.from('of this process');
const self = { mailbox: 'boss', seat: 's', role: null };
const letter = { id: 'i', to: 'ann.mcp', seat: 'a', kind: 'note', body: Buffer.alloc(0) };

it('a letter that is sent again is the same, one from or for another seat is not #broker-durable', () => {
  const again = duplicateIdOf(origin, self, { ...letter, body: Buffer.from('later') });
  expect(duplicateIdOf(origin, self, letter)).toBe(again);
  const { seat: _, ...forAny } = letter;
  const others = [
    duplicateIdOf(Buffer.from('another process'), self, letter),
    duplicateIdOf(origin, { ...self, seat: 't' }, letter),
    duplicateIdOf(origin, self, { ...letter, seat: 'b' }),
    duplicateIdOf(origin, self, forAny),
    duplicateIdOf(origin, self, { ...letter, to: 'bob.mcp' }),
    duplicateIdOf(origin, self, { ...letter, kind: 'other' }),
    duplicateIdOf(origin, self, { ...letter, id: 'j' }),
  ];
  expect(new Set([again, ...others]).size).toBe(1 + others.length);
});
