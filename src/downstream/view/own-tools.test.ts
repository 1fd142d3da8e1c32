import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../../test/support/fake-gateway.ts';
import { type Script, text, tool } from '../../../test/support/scripted-server.ts';
import { until } from '../../../test/support/until.ts';
import type { FullTelemetry } from '../../host-tools/telemetry.ts';
import { localUser } from '../../policy/principal.ts';

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
  it('are listed with those of the servers, and work while every server is broken', async () => {
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

describe('what the gateway’s own tools name', () => {
  const settings = { hostTools: true };
  const remote = { id: 'token:x', role: 'reader' };
  const full = (name: string) => ({ name, arguments: { render: 'json', detail: 'full' } });

  /** After calls of both servers, one of which fails: a principal that may use one tool of `a`. */
  async function watched() {
    const failing: Script = {
      tools: [tool('send_mail'), tool('list_mail')],
      on: { 'tools/call': (_heard, child) => void child.exit() },
    };
    const two = { ...scripts.a, tools: [tool('read_file'), tool('write_file')] };
    const world = newGateway({ a: two, b: failing }, { settings });
    world.host.setGuard((principal, server, name) =>
      principal === localUser ||
      server === 'holdfast' ||
      (server === 'a' && (name === null || name === 'read_file'))
        ? { allow: true }
        : { allow: false, reason: 'not for it' },
    );
    const local = world.legacy();
    for (const name of ['a__read_file', 'a__write_file', 'b__send_mail'])
      local.request('tools/call', { name });
    await settled();
    return { ...world, local, reader: world.legacy({}, remote) };
  }

  it.each(['health_snapshot', 'telemetry_snapshot'])(
    'in %s is what the asker may use, and nothing else #guard',
    async (name) => {
      const { local, reader } = await watched();
      const ask = (peer: typeof local) =>
        JSON.stringify(peer.request('tools/call', full(`holdfast__${name}`)).result);
      for (const word of ['send_mail', '"b"']) expect(ask(local)).toContain(word);
      expect(ask(reader)).not.toMatch(/send_mail|write_file|\bb\b/);
    },
  );
});

describe('telemetry', () => {
  const settings = { hostTools: true };
  const telemetryFor = (peer: {
    request: (method: string, params: object) => { result: object };
  }) =>
    (
      peer.request('tools/call', {
        name: 'holdfast__telemetry_snapshot',
        arguments: { render: 'json', detail: 'full' },
      }).result as { structuredContent: FullTelemetry }
    ).structuredContent;

  it('counts a call that was sent again, with its tool', async () => {
    let calls = 0;
    const dyingOnce: Script = {
      tools: [tool('read')],
      on: {
        'tools/call': (_heard, child) => {
          calls += 1;
          return calls === 1 ? void child.exit() : text('there');
        },
      },
    };
    const config = { s: { tools: { read: { replay: 'safe' } } } };
    const { legacy, clock } = newGateway({ s: dyingOnce }, { settings, config });
    const peer = legacy();
    const call = peer.request('tools/call', { name: 's__read' });
    await clock.advanceAsync(1_000);
    expect(call.result).toEqual(text('there'));
    const { retries, methods, workerRestarts } = telemetryFor(peer);
    expect({ retries, workerRestarts }).toEqual({ retries: 1, workerRestarts: 1 });
    expect(methods.find(({ method }) => method === 'tools/call:s/read')?.retries).toBe(1);
  });

  it('never counts fewer restarts than before, whichever connection was used last', async () => {
    const differing: Script = {
      on: {
        'tools/list': (_heard, child) => {
          const isAsked = child.last('initialize').text.includes('sampling');
          return { tools: [tool('read_file'), ...(isAsked ? [tool('ask')] : [])] };
        },
        'tools/call': () => text('called'),
      },
    };
    const { host, legacy } = newGateway({ s: differing }, { settings });
    const seen: number[] = [];
    const peer = legacy();
    const note = async () => {
      await settled();
      seen.push(telemetryFor(peer).workerRestarts);
    };
    for (let round = 0; round < 3; round += 1) {
      peer.request('tools/call', { name: 's__read_file' });
      await note();
      await host.stop('s');
      await note();
    }
    peer.request('tools/call', { name: 's__read_file' });
    await note();
    const other = legacy({ sampling: {} });
    other.request('tools/call', { name: 's__read_file' });
    await note();
    peer.request('tools/call', { name: 's__read_file' });
    await note();
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBeGreaterThanOrEqual(2);
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
