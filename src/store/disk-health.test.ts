import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { withHealthOf } from './disk-health.ts';
import { MemoryStore } from './memory-store.ts';
import type { StoreHealth } from './store.ts';

const ok: StoreHealth = { ok: true };
const failing = (problem: string): StoreHealth => ({ ok: false, problem });

describe('the health of the disk', () => {
  it.each([
    ['well while everything is', ok, ok, ok],
    ['that of the store', failing('store'), ok, failing('store')],
    ['that of the other', ok, failing('log'), failing('log')],
    ['that of both', failing('store'), failing('log'), failing('store; log')],
  ])('is %s', async (_, ofStore, ofOther, shown) => {
    await using memory = new MemoryStore({ clock: manualClock() });
    const store = withHealthOf(Object.assign(memory, { health: () => ofStore }), () => ofOther);
    expect(store.health()).toEqual(shown);
  });

  it('leaves the store as it is otherwise', async () => {
    const memory = new MemoryStore({ clock: manualClock() });
    const store = withHealthOf(memory, () => ok);
    const options = { durability: 'forgetful' } as const;
    await store.records('verdicts', options).put('key', 1);
    expect(await memory.records('verdicts', options).get('key')).toMatchObject({ value: 1 });
    await store.close();
    await expect(memory.records('verdicts', options).get('key')).rejects.toThrow(/closed/);
  });
});
