import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { storeContract } from '../../test/support/store-contract.ts';
import { MemoryStore } from './memory-store.ts';

storeContract('the memory store', (clock) => new MemoryStore({ clock }));

describe('the memory store', () => {
  it('makes room by dropping what was put longest ago', async () => {
    await using store = new MemoryStore({ clock: new ManualClock(), maxBytes: 300 });
    const verdicts = store.collection('verdicts');
    for (const key of ['a', 'b', 'c']) await verdicts.put(key, 'x'.repeat(50));
    await verdicts.put('b', 'y'.repeat(50));
    await verdicts.put('d', 'x'.repeat(50));
    expect((await verdicts.entries()).map(({ key }) => key)).toEqual(['b', 'd']);
  });
});
