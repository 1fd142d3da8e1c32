// Letters of several senders for one reader: one that has its share holds up nobody else, and its own come in their
// order. Shelves without a broker.

import { describe, expect, it } from 'vitest';
import type { Held } from './held.ts';
import { usualHubLimits } from './limits.ts';
import { Shelf } from './shelf.ts';

let numbers = 0;
function held(mailbox: string, more: Partial<Held> = {}): Held {
  numbers += 1;
  return {
    number: numbers,
    id: `${mailbox}-${numbers}`,
    from: { mailbox, seat: 's', role: null },
    to: 'boss',
    credential: undefined,
    seat: undefined,
    kind: 'note',
    about: undefined,
    expiresAt: undefined,
    endsAt: undefined,
    body: Buffer.from('text'),
    stored: Promise.resolve(),
    wasHanded: false,
    isUnkept: false,
    ...more,
  };
}

function shelfWith(more: Partial<typeof usualHubLimits>) {
  const now = { at: 0 };
  const shelf = new Shelf({
    limits: { ...usualHubLimits, ...more },
    now: () => now.at,
    expired: () => {},
    isRevoked: () => false,
    isUncertain: () => false,
    revoked: () => {},
  });
  const handed: string[] = [];
  const join = (seat: string) =>
    shelf.join({ seat, hand: ({ number }) => void handed.push(`${number - first}`) });
  const first = numbers + 1;
  return { shelf, handed, join, first, now };
}

describe('a sender that has its share of what a reader holds', () => {
  it.each([{ senderLetters: 2 }, { senderBytes: 1_100 }])(
    'waits, in its order, and others do not (%j) #principal-share',
    (limits) => {
      const { shelf, handed, join, first } = shelfWith(limits);
      join('s');
      for (const from of ['ann', 'ann', 'ann', 'ann', 'bob', 'ann']) shelf.put(held(from));
      expect(handed).toEqual(['0', '1', '4']);
      shelf.take('s', first + 4);
      expect(handed).toEqual(['0', '1', '4']);
      shelf.take('s', first);
      shelf.take('s', first + 1);
      shelf.take('s', first + 2);
      expect(handed).toEqual(['0', '1', '4', '2', '3', '5']);
      for (const at of [3, 5]) shelf.take('s', first + at);
      expect(shelf.letters).toEqual([]);
    },
  );

  it('gets all of them to the next reader in the order in which they came #principal-share', () => {
    const { shelf, handed, join } = shelfWith({ senderLetters: 2 });
    join('s');
    for (const from of ['ann', 'ann', 'ann', 'bob', 'ann']) shelf.put(held(from));
    shelf.leave('s');
    join('s');
    expect(handed).toEqual(['0', '1', '3', '0', '1', '3']);
  });

  it('has its waiting letters withdrawn and expired as others #principal-share', () => {
    const { shelf, handed, join, first, now } = shelfWith({ senderLetters: 1 });
    join('s');
    shelf.put(held('ann'));
    shelf.put(held('ann', { endsAt: 10 }));
    shelf.put(held('ann'));
    shelf.put(held('ann'));
    expect(shelf.withdraw(first + 2)).toBe(true);
    now.at = 10;
    shelf.expire();
    expect(shelf.letters.map(({ number }) => number - first)).toEqual([0, 3]);
    shelf.take('s', first);
    expect(handed).toEqual(['0', '3']);
  });
});
