import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { localUser } from '../../../policy/principal.ts';
import { MemoryStore } from '../../../store/memory-store.ts';
import type { Collection } from '../../../store/store.ts';
import { openTokens, type TokenRecord } from './tokens.ts';

const clock = manualClock();

function collection() {
  return new MemoryStore({ clock }).collection('tokens');
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('the tokens', () => {
  it('begin with one for the local user, whose secret is told once', async () => {
    const kept = collection();
    const first = await openTokens(kept, clock);
    expect(first.secret).toMatch(/^hf_[A-Za-z0-9_-]{43}$/);
    expect(first.tokens.verify(first.secret ?? '')).toBe(localUser);
    const second = await openTokens(kept, clock);
    expect(second.secret).toBeUndefined();
    expect(second.tokens.verify(first.secret ?? '')).toBe(localUser);
  });

  it('are kept as hashes only', async () => {
    const kept = collection();
    const { secret = '' } = await openTokens(kept, clock);
    const entries = await kept.entries();
    expect(entries).toHaveLength(1);
    expect(JSON.stringify(entries)).not.toContain(secret.slice(3));
    expect(entries[0]?.value).toMatchObject({ hash: sha256(secret), role: null, expiresAt: null });
  });

  it('are different each time', async () => {
    const secrets = new Set<string | undefined>();
    for (let n = 0; n < 20; n += 1) secrets.add((await openTokens(collection(), clock)).secret);
    expect(secrets.size).toBe(20);
  });

  it.each(['', 'x', 'hf_', 'Bearer'])('do not know %j', async (wrong) => {
    const { tokens, secret = '' } = await openTokens(collection(), clock);
    expect(tokens.verify(wrong)).toBeUndefined();
    expect(tokens.verify(`${secret}x`)).toBeUndefined();
    expect(tokens.verify(secret.slice(0, -1))).toBeUndefined();
    expect(tokens.verify(secret.toUpperCase())).toBeUndefined();
    expect(tokens.verify(sha256(secret))).toBeUndefined();
  });

  const record = (id: string, secret: string, more: Partial<TokenRecord> = {}): TokenRecord => ({
    id,
    hash: sha256(secret),
    name: id,
    role: 'researcher',
    createdAt: 0,
    expiresAt: null,
    ...more,
  });

  it('with a role are their own principals, never the local user', async () => {
    const kept = collection();
    await kept.put('a', record('a', 'secret-a'));
    await kept.put('b', record('b', 'secret-b', { role: null }));
    const { tokens, secret } = await openTokens(kept, clock);
    expect(secret).toBeUndefined();
    expect(tokens.verify('secret-a')).toEqual({ id: 'token:a', role: 'researcher' });
    expect(tokens.verify('secret-b')).toEqual({ id: 'token:b', role: null });
  });

  it('are known as well the second time, and no others for it', async () => {
    const kept = collection();
    const ids = Array.from({ length: 20 }, (_, n) => `t${n}`);
    for (const id of ids) await kept.put(id, record(id, `secret-of-${id}`));
    const { tokens } = await openTokens(kept, clock);
    for (const id of [...ids, ...ids, ...ids.toReversed()]) {
      expect(tokens.verify(`secret-of-${id}`)?.id).toBe(`token:${id}`);
      expect(tokens.verify(`secret-Of-${id}`)).toBeUndefined();
      expect(tokens.verify(`\u0173ecret-of-${id}`)).toBeUndefined();
    }
  });

  it('end at their time', async () => {
    const kept = collection();
    await kept.put('a', record('a', 'secret', { expiresAt: clock.wallNow() + 1000 }));
    const { tokens } = await openTokens(kept, clock);
    expect(tokens.verify('secret')).toBeDefined();
    clock.advance(1000);
    expect(tokens.verify('secret')).toBeUndefined();
  });

  it.each([null, 1, {}, { ...record('a', 's'), hash: 'short' }, { ...record('a', 's'), role: 5 }])(
    'are not made of damaged records: %j',
    async (damaged) => {
      const kept = collection();
      await kept.put('a', damaged);
      const { tokens } = await openTokens(kept, clock);
      expect(tokens.verify('s')).toBeUndefined();
    },
  );

  describe('whose records cannot be read', () => {
    /** A collection that is closed to us, or was damaged, until it is `whole`. */
    async function unreadable(held: TokenRecord | null) {
      const kept = collection();
      if (held !== null) await kept.put(held.id, held);
      const state = { isWhole: false };
      const closed: Collection = {
        ...kept,
        entries: async () => (state.isWhole ? await kept.entries() : []),
        isWhole: async () => state.isWhole,
      };
      return { closed, kept, state };
    }

    it('are neither replaced nor overwritten by another one', async () => {
      const clock = manualClock();
      const { closed, kept } = await unreadable(record('local', 'secret'));
      const { tokens, secret } = await openTokens(closed, clock);
      expect(secret).toBeUndefined();
      expect(tokens.verify('secret')).toBeUndefined();
      expect(await kept.entries()).toEqual([{ key: 'local', value: record('local', 'secret') }]);
    });

    it('are good again as soon as they can be read', async () => {
      const clock = manualClock();
      const { closed, state } = await unreadable(record('local', 'secret'));
      const { tokens } = await openTokens(closed, clock);
      await clock.advanceAsync(5_000);
      expect(tokens.verify('secret')).toBeUndefined();
      state.isWhole = true;
      await clock.advanceAsync(5_000);
      expect(tokens.verify('secret')).toBe(localUser);
      expect(clock.pending).toBe(0);
    });

    it('do not keep others from being good', async () => {
      const { kept } = await unreadable(record('a', 'secret'));
      const { tokens } = await openTokens({ ...kept, isWhole: async () => false }, manualClock());
      expect(tokens.verify('secret')).toBeDefined();
    });
  });
});
