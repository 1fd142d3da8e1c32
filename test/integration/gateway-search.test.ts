// `surface: "search"`: three tools stand for all others, and what is called through them is what
// would have been called without them, to the byte. And the gateway's own tools, which answer
// whatever else is broken.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { HttpClient, modernRequest } from '../support/gateway-http-client.ts';
import type { Json } from '../support/gateway-stdio-client.ts';

const textOf = ({ result }: Json): string => result.content[0].text;
const namesOf = ({ json }: Json): string[] =>
  json.result.tools.map(({ name }: { name: string }) => name);

describe('the search surface', () => {
  let home: GatewayHome;
  let served: Served;
  let client: HttpClient;

  beforeAll(async () => {
    home = await GatewayHome.create({
      surface: 'search',
      mcpServers: {
        files: { ...faultyStdio(), tools: { add: { hidden: true } } },
        docs: faultyStdio({ era: 'legacy' }),
        dead: { command: '/bin/false' },
      },
    });
    served = await home.serve();
    client = new HttpClient(served.url);
  });

  afterAll(async () => {
    client[Symbol.dispose]();
    await served.stop();
    await home[Symbol.asyncDispose]();
  });

  it('is three tools, for clients of both eras, before any server was started #search-surface', async () => {
    const three = ['search_tools', 'describe_tool', 'call_tool'];
    expect(namesOf(await client.modern('tools/list'))).toEqual(three);
    const session = await client.session();
    expect(namesOf(await session.ask('tools/list'))).toEqual(three);
    const health = await client.call('holdfast__health_snapshot', { render: 'json' });
    expect(health.result.structuredContent.servers).toMatchObject({ idle: 3, ready: 0 });
  });

  it('leads from words to a tool, its description and its result #search', async () => {
    const question = { query: 'arguments byte for byte', server: 'files' };
    const found = textOf(await client.call('search_tools', question));
    const [best = ''] = found.split('\n');
    expect(best).toMatch(/^files__echo\b/);
    const everywhere = textOf(await client.call('search_tools', { query: 'byte for byte' }));
    expect(everywhere.split('\n').at(-1), 'what could not be searched').toContain('dead');
    const described = await client.call('describe_tool', { name: 'files__echo' });
    expect(textOf(described)).toContain('"inputSchema"');
    expect(textOf(described)).toContain('files__echo');
    const inner = { name: 'files__echo', arguments: { text: 'found' } };
    const called = await client.call('call_tool', inner);
    expect(called.result.structuredContent).toEqual({ text: 'found' });
  });

  it('carries the arguments of the called tool byte for byte #byte-exact #search-surface', async () => {
    const exact = String.raw`{ "n":9007199254740993,"f":1.0,"e":1e400, "k":1,"k":2,"u":"\u00e9é\/" }`;
    for (const server of ['files', 'docs']) {
      const name = `${server}__echo`;
      const request = modernRequest('tools/call', { name: 'call_tool', arguments: {} });
      const args = `{"name":"${name}","arguments":${exact}}`;
      const body = JSON.stringify(request.body).replace('"arguments":{}', `"arguments":${args}`);
      const { text } = await client.ask({ ...request, body });
      expect(text, server).toContain(`"structuredContent":${exact}`);
      const last = { name: `${server}__received`, arguments: { last: 1, method: 'tools/call' } };
      const { result } = await client.call('call_tool', last);
      const [message] = result.structuredContent.messages;
      expect(Buffer.from(message.base64, 'base64').toString()).toContain(`"arguments":${exact}`);
    }
  });

  it('calls a tool by its own name as well', async () => {
    const { result } = await client.call('docs__echo', { text: 'direct' });
    expect(result.structuredContent).toEqual({ text: 'direct' });
  });

  it('treats hidden tools like tools that do not exist', async () => {
    const ways = [
      (name: string) => client.call('call_tool', { name, arguments: {} }),
      (name: string) => client.call('describe_tool', { name }),
      (name: string) => client.call(name),
    ];
    for (const way of ways) {
      const [hidden, none] = [await way('files__add'), await way('files__nil')];
      expect(hidden.error).toEqual({ code: -32_602, message: 'Unknown tool: files__add' });
      expect(none.error).toEqual({ code: -32_602, message: 'Unknown tool: files__nil' });
    }
    const found = await client.call('search_tools', { query: 'Adds amount', limit: 50 });
    expect(textOf(found)).not.toContain('files__add');
  });

  it.each([
    ['search_tools', {}],
    ['search_tools', { query: 'x', limit: 1000 }],
    ['describe_tool', {}],
    ['call_tool', {}],
    ['call_tool', { name: 'files__echo', arguments: 'text' }],
    ['call_tool', { name: 'files__echo', text: 'beside' }],
    ['call_tool', { name: 'call_tool', arguments: {} }],
  ])('refuses wrong arguments of %s %j with a message about the right ones', async (name, args) => {
    const { error } = await client.call(name, args);
    expect(error.code).toBe(-32_602);
    expect(error.message).toContain(name);
  });
});

describe('the gateway’s own tools', () => {
  it('answer while every server is broken #status #host-tools', async () => {
    await using home = await GatewayHome.create({
      mcpServers: {
        dead: { command: '/bin/false' },
        missing: { command: '/nonexistent/server' },
        mute: {
          ...faultyStdio({ faults: [{ kind: 'hang', when: 'at-any' }] }),
          startTimeoutMs: 300,
        },
        unset: { command: 'node', args: [`$\{env:HOLDFAST_NO_SUCH_VARIABLE}`] },
      },
    });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const names = namesOf(await client.modern('tools/list'));
    expect(names).toEqual(['holdfast__health_snapshot', 'holdfast__telemetry_snapshot']);
    for (const server of ['dead', 'missing', 'mute']) {
      const { isError, _meta } = (await client.call(`${server}__any`)).result;
      expect(isError).toBe(true);
      expect(_meta['holdfast/fault']).toMatchObject({ code: 'unavailable', server });
    }
    const health = await client.call('holdfast__health_snapshot', { render: 'json' });
    const { ready, servers, lastFault } = health.result.structuredContent;
    expect({ ready, healthy: servers.ready, disabled: servers.disabled }).toEqual({
      ready: true,
      healthy: 0,
      disabled: 1,
    });
    expect(['dead', 'missing', 'mute']).toContain(lastFault.server);
    const line = textOf(await client.call('holdfast__health_snapshot'));
    expect(line).toMatch(/^ready gen=1 servers ready=0 .*last_fault=\w+ server=\w+/);
    expect(line).not.toContain('\n');
    const traffic = textOf(await client.call('holdfast__telemetry_snapshot'));
    expect(traffic).toContain('requests=');
    const wrong = await client.call('holdfast__health_snapshot', { render: 'html' });
    expect(wrong.error.code).toBe(-32_602);
  });

  it('count everything that was carried, by method and tool #status #host-tools', async () => {
    await using home = await GatewayHome.create({
      mcpServers: { files: { ...faultyStdio(), callTimeoutMs: 200 } },
    });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const session = await client.session();
    await client.modern('tools/list');
    for (let call = 0; call < 3; call += 1) await session.call('files__echo');
    await client.call('files__rpc_fail');
    await client.call('files__slow', { fault: { kind: 'hang' } });
    await client.modern('no/such/method');
    const snapshot = await client.call('holdfast__telemetry_snapshot', {
      render: 'json',
      detail: 'full',
    });
    const { methods, ...totals } = snapshot.result.structuredContent;
    expect(totals).toMatchObject({
      responseErrors: 2,
      transportFaults: 1,
      retries: 0,
      cancelled: 0,
    });
    const counted = Object.fromEntries(
      methods.map(({ method, requests }: { method: string; requests: number }) => [
        method,
        requests,
      ]),
    );
    expect(counted).toMatchObject({
      'tools/list': 1,
      'tools/call:files/echo': 3,
      'tools/call:files/rpc_fail': 1,
      'tools/call:files/slow': 1,
    });
    for (const { latency } of methods) expect(latency.averageMs).toBeGreaterThanOrEqual(0);
  });
});
