import { describe, expect, it } from 'vitest';
import { FakeUpstream } from '../../../test/support/fake-upstream.ts';
import { ManualClock, settled } from '../../../test/support/manual-clock.ts';
import { tool } from '../../../test/support/scripted-server.ts';
import { Listings, type ListKind } from './listings.ts';

const all = { tools: {}, prompts: {}, resources: {} };

function newListings() {
  const clock = new ManualClock();
  const read: string[] = [];
  const lists = new Listings(clock, (kind, { definitions, leftOut }) =>
    read.push(`${kind} ${definitions.map(({ key }) => key).join()} -${leftOut}`),
  );
  const load = async (kind: ListKind, connection: FakeUpstream, ...pages: object[]) => {
    const loading = lists.load(kind, connection);
    for (const page of pages) {
      await settled();
      connection.answer(connection.methods.at(-1) ?? '', page);
    }
    return loading;
  };
  return { clock, lists, read, load };
}

describe('a list', () => {
  it('is read through all of its pages, once for all who ask at the same time', async () => {
    const { lists, read } = newListings();
    const connection = new FakeUpstream('legacy', all);
    const both = Promise.all([lists.load('tools', connection), lists.load('tools', connection)]);
    connection.answer('tools/list', { tools: [tool('a'), tool('b')], nextCursor: 'n"' });
    await settled();
    connection.answer('tools/list', { tools: [tool('b'), tool('c')] });
    await both;
    expect(read).toEqual(['tools a,b,c -1']);
    expect(connection.requests.map(({ members }) => members)).toEqual(['', '"cursor":"n\\""']);
  });

  it('leaves one bad definition out and counts it', async () => {
    const { read, load } = newListings();
    const bad = [{ name: 'x' }, 5, tool('good'), { inputSchema: { type: 'object' } }];
    await load('tools', new FakeUpstream(), { tools: bad });
    expect(read).toEqual(['tools good -3']);
  });

  it('is not asked for where the server says it has none, but for the tools', async () => {
    const { load, lists } = newListings();
    const connection = new FakeUpstream();
    for (const kind of ['prompts', 'resources', 'resourceTemplates'] as const) {
      await load(kind, connection);
      expect(lists.known(kind)?.definitions).toEqual([]);
    }
    expect(connection.methods).toEqual([]);
  });

  it('that the server does not know is empty; that it refuses is a fault', async () => {
    const { lists } = newListings();
    const connection = new FakeUpstream();
    const unknown = lists.load('tools', connection);
    connection.answer('tools/list', { code: -32601, message: '' }, 'error');
    expect((await unknown).definitions).toEqual([]);
    const refused = lists.load('tools', connection);
    connection.answer('tools/list', { code: -32603, message: 'no' }, 'error');
    await expect(refused).rejects.toMatchObject({ code: 'rpc_error' });
  });

  it('that is no object is a fault', async () => {
    const { lists } = newListings();
    const connection = new FakeUpstream();
    const loading = lists.load('tools', connection);
    connection.answer('tools/list', '[]');
    await expect(loading).rejects.toMatchObject({ code: 'protocol_violation' });
  });

  it('that hangs is cancelled after ten seconds, at the server too', async () => {
    const { lists, clock } = newListings();
    const connection = new FakeUpstream();
    const loading = lists.load('tools', connection);
    clock.advance(10_000);
    await expect(loading).rejects.toMatchObject({ code: 'timeout' });
    expect([connection.cancelled, clock.pending]).toEqual([['tools/list'], 0]);
  });

  it('of a connection that was lost meanwhile does not count', async () => {
    const { lists } = newListings();
    const connection = new FakeUpstream();
    const loading = lists.load('tools', connection);
    connection.answer('tools/list', { tools: [tool('a')] });
    connection.isLost = true;
    await expect(loading).rejects.toMatchObject({ code: 'unavailable' });
    expect(lists.known('tools')).toBeUndefined();
  });
});

describe('a list that was read', () => {
  it('of tools holds until the server says otherwise', async () => {
    const { lists, load, clock } = newListings();
    expect(lists.isFresh('tools')).toBe(false);
    await load('tools', new FakeUpstream(), { tools: [] });
    clock.advance(1e9);
    expect(lists.isFresh('tools')).toBe(true);
    lists.changed('tools');
    expect(lists.isFresh('tools')).toBe(false);
  });

  it('holds as long as the server said, and no longer', async () => {
    const { lists, load, clock } = newListings();
    const page = { tools: [], ttlMs: 5_000, cacheScope: 'public' };
    await load('tools', new FakeUpstream('modern'), page);
    expect(lists.known('tools')).toMatchObject({ scope: 'public', holdsUntil: 5_000 });
    clock.advance(4_999);
    expect(lists.isFresh('tools')).toBe(true);
    clock.advance(1);
    expect(lists.isFresh('tools')).toBe(false);
  });

  it('of resources holds only if the server would say that they changed', async () => {
    const { lists, load } = newListings();
    await load('resources', new FakeUpstream('legacy', all), { resources: [] });
    expect(lists.isFresh('resources')).toBe(false);
    const telling = { ...all, resources: { listChanged: true } };
    await load('resources', new FakeUpstream('legacy', telling), { resources: [] });
    expect(lists.isFresh('resources')).toBe(true);
  });

  it('is old while it is read again, and stays old if that fails', async () => {
    const { lists, load, clock } = newListings();
    const connection = new FakeUpstream();
    await load('tools', connection, { tools: [tool('a')] });
    lists.changed('tools');
    const loading = lists.load('tools', connection);
    expect(lists.isFresh('tools')).toBe(false);
    clock.advance(10_000);
    await expect(loading).rejects.toMatchObject({ code: 'timeout' });
    expect(lists.isFresh('tools')).toBe(false);
    expect(lists.known('tools')?.definitions.map(({ key }) => key)).toEqual(['a']);
  });

  it('is read again if the server said that it changed while it was read', async () => {
    const { lists, read } = newListings();
    const connection = new FakeUpstream();
    const loading = lists.load('tools', connection);
    lists.changed('tools');
    connection.answer('tools/list', { tools: [tool('old')] });
    await settled();
    expect(lists.isFresh('tools')).toBe(false);
    connection.answer('tools/list', { tools: [tool('new')] });
    await loading;
    expect([read, lists.isFresh('tools')]).toEqual([['tools old -0', 'tools new -0'], true]);
  });

  it('is old at once if the server says so whenever it is read', async () => {
    const { lists } = newListings();
    const connection = new FakeUpstream();
    const loading = lists.load('tools', connection);
    for (let reading = 0; reading < 3; reading += 1) {
      lists.changed('tools');
      connection.answer('tools/list', { tools: [] });
      await settled();
    }
    await loading;
    expect([lists.isFresh('tools'), connection.methods.length]).toEqual([false, 3]);
  });

  it('by an earlier run of the host is known and never fresh, and never replaces a reading', async () => {
    const { lists, load } = newListings();
    lists.recall('tools', []);
    expect([lists.known('tools')?.definitions, lists.isFresh('tools')]).toEqual([[], false]);
    await load('tools', new FakeUpstream(), { tools: [tool('a')] });
    lists.recall('tools', []);
    expect(lists.known('tools')?.definitions.length).toBe(1);
  });
});
