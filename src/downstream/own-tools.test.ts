import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { type Script, text, tool } from '../../test/support/scripted-server.ts';
import { until } from '../../test/support/until.ts';

const scripts: Record<'a' | 'b', Script> = {
  a: {
    tools: [tool('read_file', { description: 'Reads a file' })],
    on: { 'tools/call': () => text('from a') },
  },
  b: { tools: [tool('send_mail', { description: 'Sends mail' })] },
};

function listed({ result }: { result: Record<string, unknown> }): readonly string[] {
  return (result['tools'] as { name: string }[]).map(({ name }) => name);
}

describe('the gateway’s own tools', () => {
  it('stand beside those of the servers, and answer while every server is broken', async () => {
    const dead = { on: { initialize: () => undefined, 'server/discover': () => undefined } };
    const { legacy, modern, clock } = newGateway({ a: dead }, { settings: { hostTools: true } });
    const peer = legacy();
    const list = peer.request('tools/list');
    await clock.advanceAsync(10_000);
    expect(listed(list)).toEqual(['holdfast__health_snapshot', 'holdfast__telemetry_snapshot']);
    const old = peer.request('tools/call', { name: 'holdfast__health_snapshot' });
    const young = modern().call('holdfast__telemetry_snapshot');
    expect(old.result).toMatchObject({ content: [{ type: 'text' }] });
    expect(young.result).toMatchObject({ resultType: 'complete' });
    expect(old.result).not.toHaveProperty('resultType');
  });

  it('are not there if they are switched off', async () => {
    const { legacy } = newGateway(scripts);
    const peer = legacy();
    const list = peer.request('tools/list');
    const call = peer.request('tools/call', { name: 'holdfast__health_snapshot' });
    await settled();
    expect(listed(list)).toEqual(['a__read_file', 'b__send_mail']);
    expect(call.answered.error?.code).toBe(-32602);
  });

  it('refuse arguments that they do not understand', async () => {
    const { legacy } = newGateway(scripts, { settings: { hostTools: true } });
    const params = { name: 'holdfast__health_snapshot', arguments: { render: 'loud' } };
    expect(legacy().request('tools/call', params).answered.error?.code).toBe(-32602);
  });
});

describe('the search surface', () => {
  const settings = { surface: 'search' };

  it('is three tools instead of all, and starts nothing', async () => {
    const { legacy, servers } = newGateway(scripts, { settings });
    const list = legacy().request('tools/list');
    await settled();
    expect(listed(list)).toEqual(['search_tools', 'describe_tool', 'call_tool']);
    expect(servers.a.children).toEqual([]);
  });

  it('finds, describes and calls what is behind it, with the caller’s own bytes', async () => {
    const { legacy, servers } = newGateway(scripts, { settings });
    const peer = legacy();
    const found = peer.request('tools/call', {
      name: 'search_tools',
      arguments: { query: 'read file' },
    });
    const described = peer.request('tools/call', {
      name: 'describe_tool',
      arguments: { name: 'a__read_file' },
    });
    const called = peer.request(
      'tools/call',
      '{"name":"call_tool","arguments":{"name":"a__read_file","arguments":{"n":9007199254740993,\n"d":1,"d":2}}}',
    );
    // The search is loaded when it is first needed.
    await until(() => found.answers.length > 0, 'the search is answered');
    expect(JSON.stringify(found.result)).toContain('a__read_file');
    expect(JSON.stringify(described.result)).toContain('a__read_file');
    expect(called.result).toEqual(text('from a'));
    expect(servers.a.child.last('tools/call').text).toContain(
      '"name":"read_file","arguments":{"n":9007199254740993, "d":1,"d":2}',
    );
  });

  it('shows a client the tools that clients like it are offered, and names what it called #classes', async () => {
    const described = (description: string) => ({ description });
    const classes: Script = {
      on: {
        'tools/list': (_heard, child) =>
          child.last('initialize').text.includes('sampling')
            ? { tools: [tool('plain', described('for models')), tool('ask', described('asks'))] }
            : { tools: [tool('plain', described('for everybody'))] },
        'tools/call': () => text('called'),
      },
    };
    const { legacy } = newGateway({ a: classes }, { settings });
    const surface = async (peer: ReturnType<typeof legacy>, name: string, args: object) => {
      const reply = peer.request('tools/call', { name, arguments: args });
      await until(() => reply.answers.length > 0, 'it is answered');
      return reply.answered;
    };
    const sampling = legacy({ sampling: {} });
    const found = await surface(sampling, 'search_tools', { query: 'asks' });
    expect(JSON.stringify(found)).toContain('a__ask');
    const bare = legacy();
    const plain = await surface(bare, 'describe_tool', { name: 'a__plain' });
    expect(JSON.stringify(plain)).toContain('for everybody');
    const searched = await surface(bare, 'search_tools', { query: 'asks' });
    expect(JSON.stringify(searched)).not.toContain('a__ask');
    const unknown = { code: -32602, message: 'Unknown tool: a__ask' };
    expect((await surface(bare, 'describe_tool', { name: 'a__ask' })).error).toEqual(unknown);
    expect((await surface(bare, 'call_tool', { name: 'a__ask' })).error).toEqual(unknown);
    expect(await surface(sampling, 'call_tool', { name: 'a__ask' })).toMatchObject({
      result: text('called'),
    });
  });

  it('calls neither itself nor what is unknown', async () => {
    const { legacy } = newGateway(scripts, { settings });
    const peer = legacy();
    const call = (name: string) =>
      peer.request('tools/call', { name: 'call_tool', arguments: { name, arguments: {} } });
    const replies = [call('call_tool'), call('a__nothing'), call('search_tools')];
    await settled();
    for (const { answered } of replies) expect(answered.error?.code).toBe(-32602);
    expect(replies[0]?.answered.error?.message).toContain('call_tool cannot call call_tool');
  });
});
