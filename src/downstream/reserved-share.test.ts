import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { text, tool } from '../../test/support/scripted-server.ts';
import { cutBy, localUser, type Principal } from '../policy/principal.ts';

const greedy = { id: 'token:greedy', role: 'r' };
const modest = { id: 'token:modest', role: 'r' };

const staying = { name: 's__stay', arguments: {} };

/** `r`, and others that allow the same. */
function rolesOf(count: number): Record<string, { allow: string[] }> {
  const names = Array.from({ length: count }, (_, at) => (at === 0 ? 'r' : `r${at}`));
  return Object.fromEntries(names.map((name) => [name, { allow: ['s/*'] }]));
}

/** A server with a process for each client; a call of `stay` does not end. */
function world() {
  const on = {
    'tools/call': ({ params }: { readonly params: Readonly<Record<string, unknown>> }) =>
      params['name'] === 'stay' ? undefined : text('done'),
  };
  const made = newGateway(
    { s: { tools: [tool('stay'), tool('go')], on } },
    {
      config: { s: { isolation: 'client', concurrency: 1_000 } },
      settings: { roles: rolesOf(10), maxIdle: 1_000 },
    },
  );
  const call = async (name: string, who = greedy) => {
    const session = made.legacy({}, who);
    const reply = session.request('tools/call', { name: `s__${name}`, arguments: {} });
    await settled();
    return { session, reply };
  };
  const alive = () => made.servers.s.children.filter(({ isGone }) => !isGone).length;
  return { ...made, call, alive };
}

describe('the processes that a server has for single clients', () => {
  it('are refused to a principal that has its share in use, and others have theirs #principal-share', async () => {
    const { call, alive } = world();
    for (let count = 0; count < 48; count++) await call('stay');
    expect(alive()).toBe(48);
    const { reply } = await call('stay');
    expect(reply.result).toMatchObject({
      isError: true,
      _meta: { 'holdfast/fault': { code: 'overloaded', dispatched: 'no', retryable: true } },
    });
    expect(alive()).toBe(48);
    expect((await call('go', modest)).reply.result).toEqual(text('done'));
    expect((await call('go', localUser as typeof greedy)).reply.result).toEqual(text('done'));
  });

  it('are ended for its own next ones, the one idle longest first, not those of others #principal-share', async () => {
    const { call, alive, servers, clock } = world();
    const others = await call('go', modest);
    for (let count = 0; count < 100; count++) {
      clock.advance(1);
      expect((await call('go')).reply.result).toEqual(text('done'));
    }
    expect(alive()).toBe(49);
    const [first, second] = servers.s.children;
    expect([first?.isGone, second?.isGone]).toEqual([false, true]);
    expect(others.reply.result).toEqual(text('done'));
  });

  it('are ended for whoever comes when all owners have the most, of the one that has most #principal-share', async () => {
    const { call, alive } = world();
    for (let count = 0; count < 40; count++) await call('go');
    for (let count = 0; count < 24; count++) await call('stay', { id: 'token:third', role: 'r' });
    expect(alive()).toBe(64);
    expect((await call('go', modest)).reply.result).toEqual(text('done'));
    expect(alive()).toBe(64);
  });

  it('are limited for modern clients too, of all owners together #principal-share', async () => {
    const { modern, alive } = world();
    const replies = Array.from({ length: 72 }, (_, at) => {
      const principal = { id: `token:${Math.floor(at / 8)}`, role: 'r' };
      return modern({}, { principal, key: principal.id }).request('tools/call', staying);
    });
    await settled();
    expect(alive()).toBe(64);
    const refused = replies.filter(({ answers }) => answers.length > 0);
    expect(refused.length).toBe(8);
    expect(refused[0]?.result).toMatchObject({
      _meta: { 'holdfast/fault': { code: 'overloaded', dispatched: 'no' } },
    });
  });

  it('are limited for one owner, on however many paths it comes #principal-share', async () => {
    const { modern, alive } = world();
    for (let path = 0; path < 10; path++) {
      const principal: Principal = cutBy(greedy, {
        kind: 'role',
        name: path === 0 ? 'r' : `r${path}`,
      });
      for (let count = 0; count < 8; count++) {
        modern({}, { principal, key: principal.id }).request('tools/call', staying);
      }
      await settled();
    }
    expect(alive()).toBe(48);
  });

  it('of the local user are not limited', async () => {
    const { call, alive } = world();
    for (let count = 0; count < 70; count++) await call('stay', localUser as typeof greedy);
    expect(alive()).toBe(70);
  });
});
