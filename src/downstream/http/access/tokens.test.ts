import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type ManualClock, manualClock } from '../../../../test/support/manual-clock.ts';
import { isLocalUser, isOperator, localUser } from '../../../policy/principal.ts';
import type { Records } from '../../../store/contract/records.ts';
import { MemoryStore } from '../../../store/memory-store.ts';
import { StoreError } from '../../../store/store-error.ts';
import type { TokenRecord } from './token-record.ts';
import { openTokens as open, tokenAuthenticator } from './tokens.ts';

const clock = manualClock();

function tokenRecords() {
  return new MemoryStore({ clock, claims: 'durable' }).records('tokens', { durability: 'durable' });
}

/** The same records with some operations replaced. */
function changed(kept: Records, by: Partial<Records>): Records {
  return {
    get: (key) => kept.get(key),
    put: (...put) => kept.put(...put),
    putIfAbsent: (...put) => kept.putIfAbsent(...put),
    compareAndSet: (...put) => kept.compareAndSet(...put),
    remove: (key) => kept.remove(key),
    entries: (prefix) => kept.entries(prefix),
    isWhole: () => kept.isWhole(),
    ...by,
  };
}

/** The local user's alone, unless those of a config are given. */
async function openTokens(local: Records, clock: ManualClock, own?: Records) {
  const errors: unknown[] = [];
  const sources = { local, own, isOperator: (role: string | null) => role === 'operator' };
  const opened = await open(sources, clock, (error) => void errors.push(error));
  const { secret, isKept = true } = (await opened.makeFirst()) ?? {};
  return { ...opened, secret, isKept, errors };
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('the tokens', () => {
  it('begin with one for the local user, whose secret is shown once', async () => {
    const kept = tokenRecords();
    const first = await openTokens(kept, clock);
    expect(first.secret).toMatch(/^hf_[A-Za-z0-9_-]{43}$/);
    expect(first.tokens.verify(first.secret ?? '')).toBe(localUser);
    const second = await openTokens(kept, clock);
    expect(second.secret).toBeUndefined();
    expect(second.tokens.verify(first.secret ?? '')).toBe(localUser);
  });

  it('that have expired are told so, to their holders only', async () => {
    const own = tokenRecords();
    await own.put('e', record('e', 'old', { expiresAt: 1 }));
    const { tokens } = await openTokens(tokenRecords(), clock, own);
    const said = (token: string | undefined) =>
      tokenAuthenticator(tokens).authenticate({ token, remoteAddress: undefined });
    expect(said('old')).toMatchObject({
      challenge: { status: 401, message: expect.stringContaining('has expired') },
    });
    for (const token of ['oldx', '', undefined]) {
      expect(JSON.stringify(said(token))).not.toContain('expired');
    }
  });

  it('that were added just now are looked for before they are refused #tokens', async () => {
    const own = tokenRecords();
    const { tokens } = await openTokens(tokenRecords(), clock, own);
    const secret = `hf_${'a'.repeat(43)}`;
    let looks = 0;
    const authenticator = tokenAuthenticator(tokens, async () => {
      looks += 1;
      await tokens.read();
    });
    const said = (token: string) => authenticator.authenticate({ token, remoteAddress: undefined });
    await own.put('n', record('n', secret));
    expect(await said(secret)).toMatchObject({ principal: { id: 'token:n' } });
    await said(secret);
    expect(looks).toBe(1);
    expect(await said(`hf_${'b'.repeat(43)}`)).toMatchObject({ challenge: { status: 401 } });
    expect(looks).toBe(2);
    // What no token can look like is refused at once.
    expect(said('something')).toMatchObject({ challenge: { status: 401 } });
    expect(looks).toBe(2);
  });

  it('are none until the first can be shown', async () => {
    const kept = tokenRecords();
    const { principals, makeFirst } = await open(
      { local: kept, isOperator: () => false },
      clock,
      () => {},
    );
    expect(principals).toEqual([localUser]);
    expect(await kept.entries()).toEqual([]);
    expect((await makeFirst())?.isKept).toBe(true);
    expect(await kept.entries()).toHaveLength(1);
  });

  it('are kept as hashes only', async () => {
    const kept = tokenRecords();
    const { secret = '' } = await openTokens(kept, clock);
    const entries = await kept.entries();
    expect(entries).toHaveLength(1);
    expect(JSON.stringify(entries)).not.toContain(secret.slice(3));
    expect(entries[0]?.value).toMatchObject({ hash: sha256(secret), role: null, expiresAt: null });
  });

  it('are different each time', async () => {
    const secrets = new Set<string | undefined>();
    for (let n = 0; n < 20; n += 1) secrets.add((await openTokens(tokenRecords(), clock)).secret);
    expect(secrets.size).toBe(20);
  });

  it.each(['', 'x', 'hf_', 'Bearer'])('do not know %j', async (wrong) => {
    const { tokens, secret = '' } = await openTokens(tokenRecords(), clock);
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
    const own = tokenRecords();
    await own.put('a', record('a', 'secret-a'));
    await own.put('b', record('b', 'secret-b', { role: null }));
    await own.put('local', record('local', 'secret-l'));
    await own.put('o', record('o', 'secret-o', { role: 'operator' }));
    const { tokens, secret } = await openTokens(tokenRecords(), clock, own);
    expect(secret).toBeUndefined();
    expect(tokens.verify('secret-a')).toEqual({ id: 'token:a', role: 'researcher' });
    expect(tokens.verify('secret-b')).toEqual({ id: 'token:b', role: null });
    const named = tokens.verify('secret-l');
    expect(named?.id).toBe('token:local');
    expect(isLocalUser(named ?? localUser)).toBe(false);
    const [a, o] = ['secret-a', 'secret-o'].map((one) => tokens.verify(one) ?? localUser);
    expect([a, o].map((one) => one && isOperator(one))).toEqual([false, true]);
  });

  it('of the place that all configs share are those of the local user alone #tokens', async () => {
    const shared = tokenRecords();
    await shared.put('a', record('a', 'secret-a', { role: 'operator' }));
    await shared.put('local', record('local', 'secret-l', { role: 'ignored' }));
    const { tokens } = await openTokens(shared, clock, tokenRecords());
    expect(tokens.verify('secret-a')).toBeUndefined();
    expect(tokens.verify('secret-l')).toBe(localUser);
  });

  it('whose id could be the id of something else are none #tokens', async () => {
    for (const id of ['a/b', 'x y', '', 'a'.repeat(65)]) {
      const own = tokenRecords();
      await own.put(id, record(id, 'secret'));
      const { tokens } = await openTokens(tokenRecords(), clock, own);
      expect(tokens.verify('secret'), id).toBeUndefined();
    }
    const own = tokenRecords();
    await own.put('under another key', record('a', 'secret'));
    const { tokens } = await openTokens(tokenRecords(), clock, own);
    expect(tokens.verify('secret')).toBeUndefined();
  });

  describe('that are read again', () => {
    async function running() {
      const own = tokenRecords();
      await own.put('a', record('a', 'secret-a'));
      const state = { unreadable: new Set<string>(), code: 'EIO' as string | undefined };
      const closed = changed(own, {
        entries: async () => (await own.entries()).filter(({ key }) => !state.unreadable.has(key)),
        get: async (key) => {
          if (!state.unreadable.has(key)) return own.get(key);
          const { code } = state;
          const cause = code && Object.assign(new Error(code), { code, errno: 1 });
          throw new StoreError('unreadable', 'it cannot be read', cause);
        },
        isWhole: async () => state.unreadable.size === 0,
      });
      const { tokens } = await openTokens(tokenRecords(), clock, closed);
      return { own, tokens, state };
    }

    it('are those that were added, without those that were removed #revoked', async () => {
      const { own, tokens } = await running();
      expect(tokens.verify('secret-a')).toBeDefined();
      await own.put('b', record('b', 'secret-b'));
      await own.remove('a');
      expect(await tokens.read()).toBe(true);
      expect(tokens.verify('secret-a')).toBeUndefined();
      expect(tokens.verify('secret-b')?.id).toBe('token:b');
      expect(tokens.principals.map(({ id }) => id)).toEqual(['token:b']);
    });

    it.each(['EIO', 'EMFILE'])(
      'stay as they were while they cannot be read (%s), and only then #revoked',
      async (code) => {
        const { own, tokens, state } = await running();
        state.code = code;
        await own.put('b', record('b', 'secret-b'));
        await tokens.read();
        state.unreadable.add('b');
        await own.remove('a');
        expect(await tokens.read()).toBe(false);
        expect(tokens.verify('secret-a')).toBeUndefined();
        expect(tokens.verify('secret-b')).toBeDefined();
        state.unreadable.clear();
        await own.remove('b');
        expect(await tokens.read()).toBe(true);
        expect(tokens.verify('secret-b')).toBeUndefined();
      },
    );

    it.each(['EACCES', 'EPERM', 'ELOOP', undefined])(
      'end when they were made unreadable (%s), until they can be read again #revoked',
      async (code) => {
        const { tokens, state } = await running();
        state.code = code;
        state.unreadable.add('a');
        expect(await tokens.read()).toBe(false);
        expect(tokens.verify('secret-a')).toBeUndefined();
        state.unreadable.clear();
        expect(await tokens.read()).toBe(true);
        expect(tokens.verify('secret-a')).toBeDefined();
      },
    );

    it('still know when they were used', async () => {
      const { tokens } = await running();
      expect(tokens.uses.size).toBe(0);
      tokens.verify('secret-a');
      const at = clock.wallNow();
      await tokens.read();
      clock.advance(10);
      tokens.verify('wrong');
      expect([...tokens.uses]).toEqual([['a', at]]);
    });
  });

  it('are known as well the second time, and no others for it', async () => {
    const kept = tokenRecords();
    const ids = Array.from({ length: 20 }, (_, n) => `t${n}`);
    for (const id of ids) await kept.put(id, record(id, `secret-of-${id}`));
    const { tokens } = await openTokens(tokenRecords(), clock, kept);
    for (const id of [...ids, ...ids, ...ids.toReversed()]) {
      expect(tokens.verify(`secret-of-${id}`)?.id).toBe(`token:${id}`);
      expect(tokens.verify(`secret-Of-${id}`)).toBeUndefined();
      expect(tokens.verify(`\u0173ecret-of-${id}`)).toBeUndefined();
    }
  });

  it('end at their time #revoked', async () => {
    const kept = tokenRecords();
    await kept.put('a', record('a', 'secret', { expiresAt: clock.wallNow() + 1000 }));
    const { tokens } = await openTokens(tokenRecords(), clock, kept);
    expect(tokens.verify('secret')).toBeDefined();
    expect(tokens.principals).toHaveLength(1);
    clock.advance(1000);
    expect(tokens.verify('secret')).toBeUndefined();
    expect(tokens.principals).toEqual([]);
  });

  it.each([null, 1, {}, { ...record('a', 's'), hash: 'short' }, { ...record('a', 's'), role: 5 }])(
    'are not made of damaged records: %j',
    async (damaged) => {
      const kept = tokenRecords();
      await kept.put('a', damaged);
      const { tokens } = await openTokens(tokenRecords(), clock, kept);
      expect(tokens.verify('s')).toBeUndefined();
    },
  );

  describe('whose records cannot be read', () => {
    /** Records that are closed to us, or was damaged, until it is `whole`. */
    async function unreadable(held: TokenRecord | null) {
      const kept = tokenRecords();
      if (held !== null) await kept.put(held.id, held);
      const state = { isWhole: false };
      const closed = changed(kept, {
        entries: async () => (state.isWhole ? await kept.entries() : []),
        isWhole: async () => state.isWhole,
      });
      return { closed, kept, state };
    }

    it('are neither replaced nor overwritten by another one', async () => {
      const clock = manualClock();
      const { closed, kept } = await unreadable(record('local', 'secret'));
      const { tokens, secret } = await openTokens(closed, clock);
      expect(secret).toBeUndefined();
      expect(tokens.verify('secret')).toBeUndefined();
      expect(await kept.entries()).toMatchObject([
        { key: 'local', value: record('local', 'secret') },
      ]);
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
      const closed = changed(kept, { isWhole: async () => false });
      const { tokens } = await openTokens(tokenRecords(), manualClock(), closed);
      expect(tokens.verify('secret')).toBeDefined();
    });
  });

  describe('whose first record the disk refuses', () => {
    function refusing() {
      const kept = tokenRecords();
      const state = { isRefusing: true };
      const refused = changed(kept, {
        putIfAbsent: async (...put) => {
          if (state.isRefusing) throw new StoreError('not_kept', 'disk full');
          return kept.putIfAbsent(...put);
        },
      });
      return { kept, refused, state };
    }

    it('are good while we run, and known to be lost by a restart #kept-or-refused', async () => {
      const clock = manualClock();
      const { kept, refused } = refusing();
      const { tokens, secret = '', isKept } = await openTokens(refused, clock);
      expect(isKept).toBe(false);
      expect(tokens.verify(secret)).toBe(localUser);
      expect(await kept.entries()).toEqual([]);
      expect((await openTokens(tokenRecords(), clock)).isKept).toBe(true);
    });

    it('are kept as soon as it takes them #durable', async () => {
      const clock = manualClock();
      const { kept, refused, state } = refusing();
      const { secret = '' } = await openTokens(refused, clock);
      await clock.advanceAsync(5_000);
      expect(await kept.entries()).toEqual([]);
      state.isRefusing = false;
      await clock.advanceAsync(5_000);
      expect(await kept.entries()).toMatchObject([{ value: { hash: sha256(secret) } }]);
      expect(clock.pending).toBe(0);
    });

    it('are tried to be kept again after an error that nobody expects, which is reported #durable', async () => {
      const clock = manualClock();
      const { kept, refused } = refusing();
      const unexpected = new TypeError('a defect');
      let attempts = 0;
      const odd = changed(refused, {
        putIfAbsent: (...put) => {
          attempts += 1;
          if (attempts === 2) return Promise.reject(unexpected);
          return (attempts === 1 ? refused : kept).putIfAbsent(...put);
        },
      });
      const { errors } = await openTokens(odd, clock);
      await clock.advanceAsync(10_000);
      expect([attempts, errors]).toEqual([3, [unexpected]]);
      expect(await kept.entries()).toHaveLength(1);
      expect(clock.pending).toBe(0);
    });

    it('are not tried to be kept after the store was closed', async () => {
      const clock = manualClock();
      const { refused } = refusing();
      let attempts = 0;
      const closed = changed(refused, {
        putIfAbsent: () => {
          attempts += 1;
          return Promise.reject(new StoreError(attempts === 1 ? 'not_kept' : 'closed', 'no'));
        },
      });
      const { errors } = await openTokens(closed, clock);
      await clock.advanceAsync(10_000);
      expect([attempts, errors, clock.pending]).toEqual([2, [], 0]);
    });

    it('never take the place of one that another process has kept meanwhile', async () => {
      const clock = manualClock();
      const { kept, refused, state } = refusing();
      const { tokens, secret = '' } = await openTokens(refused, clock);
      await kept.put('local', record('local', 'of the other'));
      state.isRefusing = false;
      await clock.advanceAsync(5_000);
      expect(await kept.get('local')).toMatchObject({ value: { hash: sha256('of the other') } });
      expect(tokens.verify(secret)).toBe(localUser);
      expect(clock.pending).toBe(0);
    });

    it('are written once more where they were found although they were refused', async () => {
      const clock = manualClock();
      const kept = tokenRecords();
      const writes: string[] = [];
      let isFirst = true;
      const unsure = changed(kept, {
        put: (...put) => {
          writes.push('put');
          return kept.put(...put);
        },
        putIfAbsent: async (...put) => {
          writes.push('putIfAbsent');
          const done = await kept.putIfAbsent(...put);
          if (!isFirst) return done;
          isFirst = false;
          throw new StoreError('not_kept', 'the folder could not be synced');
        },
      });
      expect((await openTokens(unsure, clock)).isKept).toBe(false);
      await clock.advanceAsync(1_000);
      expect(writes).toEqual(['putIfAbsent', 'putIfAbsent', 'put']);
    });
  });

  it('that another process has made at the same time count, and none is shown', async () => {
    const kept = tokenRecords();
    const late = changed(kept, {
      putIfAbsent: async (...put) => {
        await kept.put('local', record('local', 'of the other'));
        return kept.putIfAbsent(...put);
      },
    });
    const { tokens, secret } = await openTokens(late, manualClock());
    expect(secret).toBeUndefined();
    expect(tokens.verify('of the other')).toBe(localUser);
  });
});
