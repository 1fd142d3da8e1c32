// How long a call id has to be known: as long as its letter may come again, or its answer may be asked for again.

import { describe, expect, it } from 'vitest';
import { callIdOf, knownMs, replyMs } from './call-ids.ts';

const dayMs = 86_400_000;

describe('a call id', () => {
  it('is known for longer than its letter and its answer live, and no longer than a key of a client #broker-once #no-growth', () => {
    expect(knownMs('one', 60_000)).toBe(60_000 + replyMs + 60_000);
    expect(knownMs('one', 10 * dayMs)).toBe(dayMs);
  });

  it('is known for a day if its letter lives for ever, or if it stands for a key of a client #broker-once #idempotency-key', () => {
    expect(knownMs('one', undefined)).toBe(dayMs);
    expect(knownMs(callIdOf('order 7'), 60_000)).toBe(dayMs);
  });
});
