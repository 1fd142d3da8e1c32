// Adding, listing and revoking tokens. Real records in memory.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { newToken } from '../downstream/http/access/token-record.ts';
import { storedTokens } from '../downstream/http/access/token-table.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { addToken, listedTokens } from './token-book.ts';
import { revokeNamed } from './token-revocation.ts';

async function book() {
  const store = new MemoryStore({ clock: manualClock(), claims: 'durable' });
  const records = {
    local: store.records('local', { durability: 'durable' }),
    own: store.records('own', { durability: 'durable' }),
    uses: store.records('uses', { durability: 'forgetful' }),
  };
  const add = (name?: string, role = 'reader', now = 0) =>
    addToken(records, { role, name, now, expiresAt: null });
  const credentials = store.records('credentials', { durability: 'durable' });
  const revoke = (word: string) => revokeNamed({ tokens: records, credentials }, word);
  return { records, add, revoke };
}

describe('a token that is added', () => {
  it('is stored as a hash, under a random id that is not its name #tokens', async () => {
    const { records, add, revoke } = await book();
    const { secret, record } = await add('ci');
    expect(secret).toMatch(/^hf_[A-Za-z0-9_-]{43}$/);
    expect(record).toMatchObject({ name: 'ci', role: 'reader', createdAt: 0, expiresAt: null });
    expect(record.id).toMatch(/^[0-9a-f]{16}$/);
    expect(JSON.stringify(await records.own.entries())).not.toContain(secret.slice(3));
    expect(await storedTokens(records.own)).toEqual([record]);
    expect(await storedTokens(records.local)).toEqual([]);
    await revoke('ci');
    expect((await add('ci')).record.id).not.toBe(record.id);
  });

  it('without a name has that of its role, with a number if that is taken', async () => {
    const { add } = await book();
    const names = [await add(), await add(), await add(undefined, 'other'), await add()];
    expect(names.map(({ record }) => record.name)).toEqual([
      'reader',
      'reader-2',
      'other',
      'reader-3',
    ]);
    const long = 'r'.repeat(64);
    const both = [await add(undefined, long), await add(undefined, long)];
    expect(both.map(({ record }) => record.name)).toEqual([long, `${'r'.repeat(58)}-2`]);
  });

  it.each(['a/b', '', ' ', 'a b', 'x'.repeat(65), 'ü', '../x', 'a\n'])(
    'cannot be called %j',
    async (name) => {
      const { add, records } = await book();
      await expect(add(name)).rejects.toMatchObject({ code: 'invalid_request' });
      expect(await records.own.entries()).toEqual([]);
    },
  );

  it('has neither the name nor the id of another, nor that of the local user', async () => {
    const { add } = await book();
    const { record } = await add('ci');
    for (const name of ['ci', record.id, 'local']) {
      await expect(add(name)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it('is refused beyond a thousand', async () => {
    const { add, records } = await book();
    for (let number = 0; number < 1_000; number += 1) {
      const about = { name: `t${number}`, role: 'r', createdAt: 0, expiresAt: null };
      const { record } = newToken(about);
      await records.own.put(record.id, record);
    }
    await expect(add('one-more')).rejects.toThrow('there are 1000 tokens');
  });
});

describe('the list of tokens', () => {
  it('has that of the local user first, the oldest next, and no hash', async () => {
    const { add, records } = await book();
    const { record: late } = await add('late', 'r', 20);
    const { record: early } = await add('early', 'r', 10);
    const about = { name: 'the local user', role: null, createdAt: 30, expiresAt: null };
    await records.local.put('local', newToken(about, 'local').record);
    await records.uses.put(early.id, { usedAt: 15 });
    const listed = await listedTokens(records);
    expect(listed.map(({ id, lastUsedAt }) => [id, lastUsedAt])).toEqual([
      ['local', null],
      [early.id, 15],
      [late.id, null],
    ]);
    expect(JSON.stringify(listed)).not.toContain(late.hash);
  });
});

describe('a token that is revoked', () => {
  it('is gone, by its name or its id, with its last use #tokens', async () => {
    const { add, records, revoke } = await book();
    const [one, two, three] = [await add('one'), await add('two'), await add('three')];
    await records.uses.put(one.record.id, { usedAt: 1 });
    expect(await revoke('one')).toMatchObject({ id: one.record.id, lastUsedAt: 1 });
    expect(await revoke(two.record.id)).toMatchObject({ name: 'two' });
    expect((await listedTokens(records)).map(({ id }) => id)).toEqual([three.record.id]);
    expect(await records.uses.entries()).toEqual([]);
  });

  it("may be the local user's", async () => {
    const { records, revoke } = await book();
    const about = { name: 'the local user', role: null, createdAt: 0, expiresAt: null };
    await records.local.put('local', newToken(about, 'local').record);
    await revoke('local');
    expect(await records.local.entries()).toEqual([]);
  });

  it('must be there, and one alone', async () => {
    const { add, records, revoke } = await book();
    const { record } = await add('report');
    await expect(revoke('reprot')).rejects.toThrow("did you mean 'report'?");
    await expect(revoke('reprot')).rejects.toMatchObject({ code: 'not_found' });
    // Two processes have added it at once.
    const twin = newToken({ name: 'report', role: 'r', createdAt: 1, expiresAt: null }).record;
    await records.own.put(twin.id, twin);
    await expect(revoke('report')).rejects.toThrow(`${record.id}, ${twin.id}`);
    expect(await records.own.entries()).toHaveLength(2);
  });
});
