// Records that are read again and again: what cannot be read for a moment stays, what is gone goes. A disk in memory.

import { describe, expect, it } from 'vitest';
import { FakeDisk } from '../../test/support/fake-disk.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { Records } from './contract/records.ts';
import { FileStore } from './file-store.ts';
import { readAgain } from './read-again.ts';

async function setUp() {
  const disk = new FakeDisk();
  const store = new FileStore({ disk, clock: new ManualClock(), report: () => {} });
  const records = store.records('tokens', { durability: 'durable' });
  for (const key of ['ann', 'bob']) await records.put(key, key);
  return { disk, records };
}

const again = (records: Records) =>
  readAgain(
    records,
    ['ann', 'bob'],
    ({ key, value }) => (value === 'none' ? undefined : key),
    (key) => key,
  );

/** With this code, so many times; then it works. */
function failing(disk: FakeDisk, operation: 'list' | 'read', code: string, times: number): void {
  const works: (name: string) => Promise<unknown> = disk[operation].bind(disk);
  let left = times;
  const sometimes = (name: string) => {
    left -= 1;
    if (left < 0) return works(name);
    return Promise.reject(Object.assign(new Error(operation), { errno: -1, code }));
  };
  Object.assign(disk, { [operation]: sometimes });
}

describe('records that are read again', () => {
  it.each(['list', 'read'] as const)(
    'stay when the process has no descriptor for a moment (%s) #revoked',
    async (operation) => {
      const { disk, records } = await setUp();
      failing(disk, operation, 'EMFILE', 1);
      expect((await again(records)).records.toSorted()).toEqual(['ann', 'bob']);
    },
  );

  it('stay as long as they cannot be read, and are not whole #revoked', async () => {
    const { disk, records } = await setUp();
    disk.failing.list = 'EMFILE';
    disk.failing.read = 'EMFILE';
    expect(await again(records)).toEqual({ records: ['ann', 'bob'], isWhole: false });
  });

  it('are gone when they say nothing that counts any more #revoked', async () => {
    const { records } = await setUp();
    await records.put('ann', 'none');
    expect(await again(records)).toEqual({ records: ['bob'], isWhole: true });
  });

  it('are gone when they were removed, also while the folder cannot be listed #revoked', async () => {
    const { disk, records } = await setUp();
    await records.remove('ann');
    expect(await again(records)).toEqual({ records: ['bob'], isWhole: true });
    disk.failing.list = 'EMFILE';
    expect(await again(records)).toEqual({ records: ['bob'], isWhole: false });
  });
});
