// What one server or client sends concerns it alone: the others, the gateway and a program that uses
// the library go on. With real processes, pipes and sockets, in both directions.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildFolder } from '../support/build.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { processesWith } from '../support/host.ts';

const fixture = fileURLToPath(new URL('../fixtures/servers/inherited/main.mjs', import.meta.url));
const program = fileURLToPath(new URL('../fixtures/processes/embedding.mjs', import.meta.url));
const inherited = { command: process.execPath, args: [fixture] };
const names = Object.getOwnPropertyNames(Object.prototype);

/** The same server on a port; it ends with its standard input. */
async function inheritedHttp() {
  const child = spawn(process.execPath, [fixture, '--http'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [port] = await once(createInterface({ input: child.stdout }), 'line');
  return { url: `http://127.0.0.1:${port}/mcp`, stop: () => child.stdin.end() };
}

let remote: Awaited<ReturnType<typeof inheritedHttp>>;
let home: GatewayHome;

beforeAll(async () => {
  remote = await inheritedHttp();
  const { url } = remote;
  home = await GatewayHome.create({
    mcpServers: { pipe: inherited, remote: { url }, good: faultyStdio() },
  });
});

afterAll(async () => {
  remote.stop();
  await home[Symbol.asyncDispose]();
});

const text = (answer: { result?: { content?: { text: string }[] } }) =>
  answer.result?.content?.[0]?.text;

describe('a server that sends names that every object inherits', () => {
  it('is answered, and so are the others, by a gateway on stdio #one-bad-neighbour', async () => {
    await using client = home.stdio();
    await client.initialize();
    for (const name of ['pipe__say', 'remote__say']) {
      const params = { name, arguments: {}, _meta: { progressToken: 'constructor' } };
      for (const id of ['constructor', 'again']) {
        expect(text(await client.ask('tools/call', params, id)), name).toBe('say');
      }
    }
    const echo = { name: 'good__echo', arguments: { text: 'x' } };
    expect((await client.ask('tools/call', echo, '__proto__')).result).toBeDefined();
    expect(await client.end()).toMatchObject({ code: 0, signal: null });
  });

  it('is answered, and so are the others, by a gateway over HTTP #one-bad-neighbour', async () => {
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const session = await client.session();
    for (const name of ['pipe__say', 'remote__say']) {
      expect(text(await client.call(name)), name).toBe('say');
      const { json } = await session.ask('tools/call', { name, arguments: {} });
      expect(text(json), name).toBe('say');
    }
    expect((await client.call('good__echo', { text: 'x' })).result).toBeDefined();
    expect((await served.stop()).code).toBe(0);
  });
});

describe('a client that sends names that every object inherits', () => {
  const requests = (name: string) =>
    [
      [name, {}],
      [`tools/${name}`, {}],
      ['tools/call', { name, arguments: { [name]: name }, _meta: { progressToken: name } }],
      ['tools/call', { name: `good__${name}`, arguments: {}, requestState: name }],
      ['prompts/get', { name }],
      ['resources/read', { uri: name }],
      ['completion/complete', { ref: { type: 'ref/prompt', name }, argument: { name, value: '' } }],
      ['logging/setLevel', { level: name }],
      ['tasks/get', { taskId: name }],
      ['tools/list', { cursor: name }],
    ] as const;

  it('is answered on stdio, every time, and then served #one-bad-neighbour', async () => {
    await using client = home.stdio();
    await client.initialize();
    for (const name of names) {
      for (const [method, params] of requests(name)) {
        const answer = await client.ask(method, params, name);
        expect(answer.result ?? answer.error, `${method} ${name}`).toBeDefined();
      }
      client.send({ jsonrpc: '2.0', method: name, params: {} });
      client.send({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: name },
      });
      client.send({ jsonrpc: '2.0', id: name, result: {} });
    }
    expect((await client.ask('ping', {}, 'last')).result).toEqual({});
    expect((await client.end()).code).toBe(0);
  });

  it('is answered over HTTP, every time, and then served #one-bad-neighbour', async () => {
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    for (const name of names) {
      for (const [method, params] of requests(name)) {
        const { status, json } = await client.modern(method, params, name);
        expect([200, 400, 404], `${method} ${name}`).toContain(status);
        expect(json.result ?? json.error, `${method} ${name}`).toBeDefined();
      }
      const headers = { 'mcp-session-id': name, [name.toLowerCase()]: name };
      const { status } = await client.ask({ path: `/${name}`, headers, body: {} });
      expect(status).toBe(404);
    }
    expect((await client.modern('tools/list')).json.result).toBeDefined();
    expect((await served.stop()).code).toBe(0);
  });
});

describe('a program that uses the library', () => {
  const run = async (deed: string, config: object, limit = '') => {
    const command = [process.execPath, program, buildFolder, deed, JSON.stringify(config)];
    const { stdout } = await promisify(execFile)('/bin/sh', [
      '-c',
      `${limit} exec "$@"`,
      'sh',
      ...command,
    ]);
    return JSON.parse(stdout);
  };

  it('is not ended by a message of a server, nor by a listener of its own that throws #one-bad-neighbour', async () => {
    const outcome = await run('callbacks-that-throw', { mcpServers: { s: inherited } });
    expect(outcome.calls).toEqual(['say', 'say', 'say']);
    expect(outcome.internalErrors).toBe(3);
  });

  it('that can open no more files gets `overloaded`, and no server is charged #restart-budget', async () => {
    const restart = { max: 2, minDelayMs: 1, maxDelayMs: 5 };
    const quiet = { command: process.execPath, args: [fixture, '--quiet'] };
    const config = { mcpServers: { s: { ...quiet, restart } } };
    // Enough to load the library, whose files Node opens many at a time.
    const outcome = await run('no-more-files', config, 'ulimit -n 512;');
    expect(outcome.during).toEqual(Array.from({ length: 8 }, () => 'overloaded'));
    expect(outcome.server).toMatchObject({
      ejected: false,
      restartsLeft: 2,
      consecutiveFailures: 0,
      lastFault: {
        code: 'overloaded',
        dispatched: 'no',
        detail: expect.stringContaining('EMFILE'),
      },
    });
    expect(outcome.after).toBe('say');
  });
});

describe('a list of more than 65,536 elements', () => {
  it('leaves one process, which is used, however often it is called #no-orphans', async () => {
    const args = [fixture, '--tools', '65537'];
    const long = { command: process.execPath, args, restart: { minDelayMs: 1, maxDelayMs: 2 } };
    await using own = await GatewayHome.create({ mcpServers: { long } });
    await using client = own.stdio();
    await client.initialize();
    for (const id of [1, 2, 3]) await client.ask('tools/list', {}, `list ${id}`);
    const children = processesWith(`${fixture}\0--tools`);
    expect(children.length).toBeGreaterThan(0);
    for (const id of [1, 2, 3]) await client.ask('tools/list', {}, `again ${id}`);
    expect(processesWith(`${fixture}\0--tools`)).toEqual(children);
    expect((await client.end()).code).toBe(0);
  });
});
