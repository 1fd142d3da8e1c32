// Three replicas of the built gateway on one real NATS server behave as one gateway: official clients behind a proxy
// that takes turns, a budget, keys, cached results and questions that meet at several of them, and replicas that are
// stopped and killed under load. What ran is judged by the ledger of the servers.

import { writeFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { connect } from '@nats-io/transport-node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { legacyHeaders } from '../support/http-front.ts';
import { executions, readLedger } from '../support/ledger.ts';
import { startPlainNats } from '../support/nats-store-place.ts';
import { Replicas } from '../support/replicas.ts';
import { until } from '../support/until.ts';

const faulty = new URL('../fixtures/servers/faulty/main.mjs', import.meta.url).pathname;

async function replicas(count: number, roles: object = { all: { allow: ['*'] } }) {
  const ledger = `/tmp/holdfast-replicas-${process.pid}-${Math.random().toString(36).slice(2)}.jsonl`;
  const server = (era: string) => ({
    command: process.execPath,
    args: [faulty, '--era', era, '--ledger', ledger],
    // Results are shared between servers that are the same in all that matters.
    cwd: '/tmp',
    trusted: true,
  });
  const mcpServers = { old: server('legacy'), new: server('modern') };
  const fleet = await Replicas.start(count, { mcpServers, roles });
  onTestFinished(() => fleet[Symbol.asyncDispose]());
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  /** A client of the official package behind the proxy. */
  const connected = async (token: string, capabilities: object = {}) => {
    const client = new Client({ name: 'one', version: '1' }, { capabilities });
    const url = new URL(fleet.proxy.url);
    const requestInit = { headers: bearer(token) };
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    onTestFinished(() => client.close());
    return client;
  };
  /** A client of one of them. */
  const at = (index: number, token: string) => {
    const client = new HttpClient(fleet.all[index]?.served.url ?? '', bearer(token));
    onTestFinished(() => client[Symbol.dispose]());
    return client;
  };
  return { fleet, ledger, connected, at };
}

const textOf = (result: unknown) =>
  (result as { content?: { text?: string }[] }).content?.[0]?.text ?? '';

describe('replicas on one NATS server', () => {
  it('serve the session of an official client in turns, with what its server asks it #replicas', async () => {
    const { fleet, connected } = await replicas(3);
    const client = await connected(await fleet.token('all'), { elicitation: {} });
    client.setRequestHandler(ElicitRequestSchema, async () => ({
      action: 'accept' as const,
      content: { answer: 'from the client' },
    }));
    for (let count = 0; count < 7; count += 1) {
      const text = `call ${count}`;
      const result = await client.callTool({ name: 'old__echo', arguments: { text } });
      expect(textOf(result)).toBe(text);
    }
    const params = {
      message: 'who?',
      requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } },
    };
    const asked = await client.callTool({
      name: 'old__ask',
      arguments: { method: 'elicitation/create', params },
    });
    expect(JSON.stringify(asked)).toContain('from the client');
  });

  it('show nobody who reads their NATS server what clients say and get #replicas', async () => {
    const { fleet, connected, at } = await replicas(2);
    const reader = await connect({ servers: new URL(fleet.nats.url).host });
    onTestFinished(() => reader.close());
    const heard: string[] = [];
    reader.subscribe('>', {
      callback: (_error, { subject, data }) => {
        heard.push(`${subject} ${Buffer.from(data).toString('latin1')}`);
      },
    });
    await reader.flush();
    const token = await fleet.token('all');
    const client = await connected(token);
    const words = 'canary in arguments and result';
    for (let count = 0; count < 4; count += 1) {
      const result = await client.callTool({ name: 'old__echo', arguments: { text: words } });
      expect(textOf(result)).toBe(words);
    }
    const one = at(0, token);
    await one.modern('tools/list');
    const cached = { ttlMs: 60_000, cacheScope: 'public', nonce: 'canary' };
    await one.call('new__cached', cached);
    const keyed = { arguments: { text: 'canary of a keyed call' }, key: 'canary of a key' };
    const meta = { 'holdfast/idempotencyKey': keyed.key };
    const text = await one.modern('tools/call', {
      name: 'new__echo',
      arguments: keyed.arguments,
      _meta: meta,
    });
    expect(JSON.stringify(text)).toContain('canary of a keyed call');
    await reader.flush();
    expect(heard.filter((line) => line.includes('.r.keys.')).length).toBeGreaterThan(1);
    expect(heard.filter((line) => line.includes('.tunnel.')).length).toBeGreaterThan(4);
    const all = heard.join('\n');
    for (const secret of [token, 'canary', 'holdfast/', 'jsonrpc', 'protocolVersion']) {
      expect(all.includes(secret) ? secret : '').toBe('');
    }
  });

  it('never exceed a budget together, and spend nearly all of it #shared-budgets', async () => {
    const budget = { calls: 1_000 };
    const { fleet, at, ledger } = await replicas(3, { worker: { allow: ['*'], budget } });
    const token = await fleet.token('worker');
    const clients = [0, 1, 2].map((index) => at(index, token));
    let made = 0;
    let isSpent = false;
    const caller = async (turn: number) => {
      for (let count = turn; !isSpent; count += 1) {
        const answer = await clients[count % 3]?.call('new__slow', { ms: 0 });
        if (JSON.stringify(answer).includes('budget_exceeded')) isSpent = true;
        else made += 1;
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, turn) => caller(turn)));
    // The others may still have a part of a block of 20 each.
    for (const client of clients) {
      for (let count = 0; count < 25; count += 1) {
        const answer = await client.call('new__slow', { ms: 0 });
        if (JSON.stringify(answer).includes('budget_exceeded')) break;
        made += 1;
      }
    }
    const ran = readLedger(ledger).filter(
      ({ phase, tool }) => phase === 'begin' && tool === 'slow',
    );
    expect(ran.length).toBe(made);
    expect(made).toBeLessThanOrEqual(1_000);
    expect(made).toBeGreaterThan(1_000 - 3 * 20);
  });

  it('fetch a public result once #shared-cache', async () => {
    const { fleet, at, ledger } = await replicas(3);
    const token = await fleet.token('all');
    const clients = [0, 1, 2].map((index) => at(index, token));
    // Each knows the lists of its own process, and by them that the tool only reads.
    for (const client of clients) await client.modern('tools/list');
    const call = { ttlMs: 60_000, cacheScope: 'public', nonce: 'shared' };
    const counts: unknown[] = [];
    for (const client of [...clients, ...clients]) {
      const answer = (await client.call('new__cached', call)) as {
        result: { structuredContent: { count: number } };
      };
      counts.push(answer.result.structuredContent.count);
    }
    expect(counts).toEqual([1, 1, 1, 1, 1, 1]);
    expect(executions(ledger, 'shared')).toBe(1);
    // Its kind is known now: also when all ask at once.
    const other = { ...call, nonce: 'at once' };
    await Promise.all(clients.map((client) => client.call('new__cached', other)));
    expect(executions(ledger, 'at once')).toBe(1);
  });

  it('fetch it again after one of them was told to reload its server #shared-cache', async () => {
    const { fleet, at } = await replicas(3);
    const token = await fleet.token('all');
    const clients = [0, 1, 2].map((index) => at(index, token)) as [
      HttpClient,
      HttpClient,
      HttpClient,
    ];
    for (const client of clients) await client.modern('tools/list');
    const count = async (client: HttpClient, nonce: string) => {
      const call = { ttlMs: 60_000, cacheScope: 'public', nonce };
      const { result } = (await client.call('new__cached', call)) as {
        result: { structuredContent: { count: number } };
      };
      return result.structuredContent.count;
    };
    for (const client of clients) expect(await count(client, 'kept')).toBe(1);
    const [one, other, third] = clients;
    const { code, stderr } = (await fleet.all[1]?.home.run(['reload', 'new'])) ?? {};
    expect([code, stderr]).toEqual([0, '']);
    // Its process counts from one again, so that the next result differs.
    for (const nonce of ['a', 'b']) await count(other, nonce);
    expect(await count(other, 'kept')).toBe(3);
    for (const client of [one, third]) {
      await until(async () => (await count(client, 'kept')) === 3, 'the news to arrive');
    }
  });

  it('run a call with an idempotency key once, wherever it is repeated #shared-keys', async () => {
    const { fleet, at, ledger } = await replicas(2);
    const token = await fleet.token('all');
    const [one, other] = [at(0, token), at(1, token)];
    const call = (client: HttpClient) =>
      client.call('old__slow', { ms: 300, nonce: 'once' }, { 'holdfast/idempotencyKey': 'k1' });
    const answers = await Promise.all([call(one), call(other), call(other)]);
    answers.push(await call(one), await call(other));
    expect(new Set(answers.map((answer) => JSON.stringify(answer['result']))).size).toBe(1);
    expect(executions(ledger, 'once')).toBe(1);
  });

  it('go on with a parked call wherever its answer comes #replicas', async () => {
    const { fleet, at, ledger } = await replicas(2);
    const token = await fleet.token('all');
    const [one, other] = [at(0, token), at(1, token)];
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
    const params = { message: 'who?', requestedSchema: { type: 'object', properties: {} } };
    const call = {
      name: 'old__ask',
      arguments: { method: 'elicitation/create', params, nonce: 'parked' },
      _meta,
    };
    const asked = (await one.modern('tools/call', call, 1)).json;
    expect(asked.result.resultType).toBe('input_required');
    const { requestState, inputRequests } = asked.result;
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests).map((key) => [key, { action: 'accept', content: { a: 1 } }]),
    );
    const answered = { ...call, requestState, inputResponses };
    const { json } = await other.modern('tools/call', answered, 2);
    expect(json.result.resultType).toBe('complete');
    expect(executions(ledger, 'parked')).toBe(1);
  });
});

describe('a replica that ends', () => {
  it('under load, in order, fails no call #replicas', async () => {
    const { fleet, connected, ledger } = await replicas(3);
    const token = await fleet.token('all');
    const clients = await Promise.all(Array.from({ length: 4 }, () => connected(token)));
    const [first] = fleet.all;
    let isOver = false;
    const failures: unknown[] = [];
    let made = 0;
    const caller = async (client: Client, own: number) => {
      for (let count = 0; !isOver; count += 1) {
        const nonce = `load-${own}-${count}`;
        try {
          const result = await client.callTool({ name: 'old__slow', arguments: { ms: 5, nonce } });
          if (result.isError === true) failures.push(result);
          if (executions(ledger, nonce) !== 1) failures.push(`${nonce} did not run once`);
        } catch (error) {
          failures.push(error);
        }
        made += 1;
      }
    };
    const load = clients.map((client, own) => caller(client, own));
    while (made < 20) await new Promise((resolve) => setImmediate(resolve));
    const ended = await first?.served.stop();
    const after = made + 20;
    while (made < after) await new Promise((resolve) => setImmediate(resolve));
    isOver = true;
    await Promise.all(load);
    expect(failures).toEqual([]);
    expect(ended?.code).toBe(0);
  });

  it('in order, answers what it has passed on to others before #replicas', async () => {
    const { fleet, ledger } = await replicas(2);
    const [first, second] = fleet.all;
    const bearer = { authorization: `Bearer ${await fleet.token('all')}` };
    const ask = (url = '', method = '', params: object = {}, session?: string) =>
      fetch(url, {
        method: 'POST',
        headers: { ...legacyHeaders(session), ...bearer },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
    const clientInfo = { name: 'c', version: '1' };
    const setup = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const { headers } = await ask(second?.served.url, 'initialize', setup);
    const session = headers.get('mcp-session-id') ?? '';
    // Longer than a replica without calls stays, and than its connections do then.
    const slow = { name: 'old__slow', arguments: { ms: 4_500, nonce: 'passed-on' } };
    const asked = ask(first?.served.url, 'tools/call', slow, session);
    await until(() => executions(ledger, 'passed-on') === 1, 'the call to run');
    const ended = first?.served.stop();
    const text = await (await asked).text();
    expect(text).toContain('"id":1,"result"');
    expect(text).not.toContain('isError');
    expect((await ended)?.code).toBe(0);
  });

  it('by kill -9 leaves its sessions to the others #replicas', async () => {
    const { fleet, connected } = await replicas(2);
    const client = await connected(await fleet.token('all'));
    const [first, second] = fleet.all;
    await client.callTool({ name: 'old__echo', arguments: { text: 'before' } });
    for (const replica of [first, second]) {
      process.kill(replica?.served.pid ?? 0, 'SIGKILL');
      await replica?.served.ended;
      const result = await client.callTool({ name: 'old__echo', arguments: { text: 'after' } });
      expect(textOf(result)).toBe('after');
      if (replica !== undefined) replica.served = await replica.home.serve(replica.served);
    }
  });
});

describe('a gateway that cannot be a replica', () => {
  it('says so and ends when that is found, if the store was away at its start #replicas', async () => {
    await using nats = await startPlainNats();
    const config = { http: {}, store: `${nats.url}/one`, mcpServers: {} };
    await using home = await GatewayHome.create(config);
    const first = await home.serve();
    await first.stop();
    await nats.kill();
    await using other = await GatewayHome.create(config);
    const started = await other.serve();
    await nats.startAgain();
    const { code, stdout } = await started.ended;
    expect(stdout).toMatch(/the key in .*holdfast\.key is not that of the other replicas/);
    expect(code).toBe(2);
    // The same key is found to be the same.
    await nats.kill();
    await using again = await home.serve();
    await nats.startAgain();
    await until(async () => {
      return (await fetch(new URL('/readyz', again.url))).status === 200;
    }, 'it is ready');
  });

  it('is told so by doctor, before it is started #replicas #command-line', async () => {
    await using nats = await startPlainNats();
    const config = { http: {}, store: `${nats.url}/one`, mcpServers: {} };
    await using home = await GatewayHome.create(config);
    await (await home.serve()).stop();
    await using other = await GatewayHome.create(config);
    const keyChecks = async (at: GatewayHome) => {
      const { stdout } = await at.run(['doctor', '--json']);
      const { checks } = JSON.parse(stdout) as {
        readonly checks: readonly { readonly kind: string; readonly subject: string }[];
      };
      return checks.filter(({ subject }) => subject === 'keyFile');
    };
    expect(await keyChecks(home)).toMatchObject([{ kind: 'ok' }]);
    const missing = { kind: 'finding', text: expect.stringContaining('is missing') };
    expect(await keyChecks(other)).toMatchObject([missing]);
    writeFileSync(other.file('holdfast.key'), `${'ab'.repeat(32)}\n`, { mode: 0o600 });
    const text = expect.stringMatching(/the key in .*holdfast\.key is not that of the other/);
    expect(await keyChecks(other)).toMatchObject([{ kind: 'finding', text }]);
  });

  it.each([
    ['has another key', {}, /the key in .*holdfast\.key is not that of the other replicas/],
    [
      'asks for no token',
      { http: { auth: 'none' } },
      /"http\.auth" is "none".*set "http\.auth" to "token"/,
    ],
  ] as const)('because it %s says so, and does not start #replicas', async (_why, more, words) => {
    await using nats = await startPlainNats();
    const config = { http: {}, store: `${nats.url}/one`, mcpServers: {} };
    await using home = await GatewayHome.create(config);
    await using _served = await home.serve();
    await using other = await GatewayHome.create({ ...config, ...more });
    const { code, stderr } = await other.start(['--listen', '127.0.0.1:0']).ended;
    expect(stderr).toMatch(words);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(code).toBe(2);
  });
});
