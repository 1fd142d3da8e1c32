// A record that several change at the same time.

import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { changeRecord } from './change-record.ts';
import { MemoryStore } from './memory-store.ts';

function counting() {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock });
  const records = store.records('counts', { durability: 'process' });
  const add = (value: unknown) => {
    const { count = 0 } = (value ?? {}) as { readonly count?: number };
    return { value: { count: count + 1 }, result: count };
  };
  return { records, clock, add };
}

describe('a change of a record', () => {
  it('is made once, also by many at once #shared-budgets', async () => {
    const { records, add } = counting();
    const results = await Promise.all(
      Array.from({ length: 20 }, () => changeRecord(records, 'a', add)),
    );
    expect(new Set(results).size).toBe(20);
    expect((await records.get('a'))?.value).toEqual({ count: 20 });
  });

  it('may be none, and may end #shared-budgets', async () => {
    const { records, clock, add } = counting();
    expect(await changeRecord(records, 'a', () => ({ result: 'none' }))).toBe('none');
    expect(await records.get('a')).toBeUndefined();
    await changeRecord(records, 'a', add, { ttlMs: 10 });
    clock.advance(10);
    expect(await records.get('a')).toBeUndefined();
  });

  it('is given up when others are always first #shared-budgets', async () => {
    const { records, add } = counting();
    await records.put('a', { count: 0 });
    const step = (value: unknown) => {
      records.put('a', { count: 100 }).catch(() => {});
      return add(value);
    };
    await expect(changeRecord(records, 'a', step)).rejects.toMatchObject({ reason: 'not_kept' });
  });
});
