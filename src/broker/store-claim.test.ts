// Which link may have a mailbox, by the store in which it remembers calls.

import { expect, it } from 'vitest';
import { mayClaim, storeAwayMs } from './store-claim.ts';

it('a mailbox is for one store until its links have been away for as long as what they had may come again #broker-once', () => {
  const claim = { store: 'one', seenAt: 1_000 };
  expect(mayClaim(undefined, 'two', 1_000)).toBe(true);
  expect(mayClaim(claim, 'one', 1_000)).toBe(true);
  expect(mayClaim(claim, 'two', 1_000 + storeAwayMs - 1)).toBe(false);
  expect(mayClaim(claim, 'two', 1_000 + storeAwayMs)).toBe(true);
});
