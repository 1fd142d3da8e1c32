import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { text, tool } from '../../test/support/scripted-server.ts';
import { localUser } from '../policy/principal.ts';

const greedy = { id: 'token:greedy', role: 'r' };
const modest = { id: 'token:modest', role: 'r' };

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
      settings: { roles: { r: { allow: ['s/*'] } }, maxIdle: 1_000 },
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

  it('of the local user are not limited', async () => {
    const { call, alive } = world();
    for (let count = 0; count < 70; count++) await call('stay', localUser as typeof greedy);
    expect(alive()).toBe(70);
  });
});
