// When a token was last used is written rarely, and never in the way of anybody.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import type { Records } from '../../../store/contract/records.ts';
import { MemoryStore } from '../../../store/memory-store.ts';
import { StoreError } from '../../../store/store-error.ts';
import { lastUses, TokenUses } from './token-uses.ts';

function useRecords() {
  const store = new MemoryStore({ clock: manualClock() });
  return store.records('token-uses', { durability: 'forgetful' });
}

describe('the last use of a token', () => {
  it('is written at once, and then once a minute at most', async () => {
    const records = useRecords();
    const writes: string[] = [];
    const counted: Pick<Records, 'put'> = {
      put: (key, value, options) => {
        writes.push(key);
        return records.put(key, value, options);
      },
    };
    const uses = new TokenUses(counted as Records);
    for (let at = 0; at < 120_000; at += 500) uses.keep(new Map([['a', 1_000_000 + at]]));
    expect(writes).toEqual(['a', 'a']);
    uses.keep(
      new Map([
        ['a', 1_120_000],
        ['b', 5],
      ]),
    );
    expect(writes).toEqual(['a', 'a', 'a', 'b']);
    expect([...(await lastUses(records))]).toEqual([
      ['a', 1_120_000],
      ['b', 5],
    ]);
  });

  it("that cannot be written is nobody's failure", async () => {
    const put = () => Promise.reject(new StoreError('not_kept', 'the disk is full'));
    const uses = new TokenUses({ put } as unknown as Records);
    expect(() => uses.keep(new Map([['a', 1]]))).not.toThrow();
  });
});
