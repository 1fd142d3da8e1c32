// The end of a gateway that has work under way, as a process: what was asked is answered, what is new
// is refused, and it is gone in time with exit code 0.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient, modernRequest } from '../support/gateway-http-client.ts';
import { callIn, recorded } from '../support/gateway-recorded.ts';
import { type Json, legacyHello } from '../support/gateway-stdio-client.ts';
import { readLedger } from '../support/ledger.ts';
import { until } from '../support/until.ts';

let calls = 0;
const homes: GatewayHome[] = [];

/** A home whose server writes down what it hears, and calls that say when they have arrived. */
async function homeWith(drainMs: number) {
  const home = await GatewayHome.create();
  homes.push(home);
  const record = home.file('heard.jsonl');
  const ledger = home.file('ledger.jsonl');
  await home.configure({ mcpServers: { s: recorded(faultyStdio({ ledger }), record) }, drainMs });
  const slowCall = (ms: number) => {
    const nonce = `call-${++calls}`;
    return {
      params: { name: 's__slow', arguments: { ms, nonce } },
      arrived: () => until(() => callIn(record, nonce) !== undefined, 'the call to arrive'),
    };
  };
  return { home, slowCall, ledger };
}

const faultOf = ({ result }: Json) => result._meta['holdfast/fault'];

let patient: Awaited<ReturnType<typeof homeWith>>;
let hurried: Awaited<ReturnType<typeof homeWith>>;

beforeAll(async () => {
  patient = await homeWith(30_000);
  hurried = await homeWith(100);
});

afterAll(async () => {
  for (const home of homes) await home[Symbol.asyncDispose]();
});

describe('a gateway on HTTP that gets SIGTERM', () => {
  it('answers what is under way, refuses what is new, and exits with 0 #drain', async () => {
    const { home, slowCall } = patient;
    const served = await home.serve();
    using client = new HttpClient(served.url);
    const session = await client.session();
    const { params, arrived } = slowCall(3_000);
    const other = slowCall(3_000);
    const [modern, legacy] = [
      client.ask(modernRequest('tools/call', params)),
      session.ask('tools/call', other.params, 'slow'),
    ];
    await Promise.all([arrived(), other.arrived()]);
    const stopped = served.stop();
    await until(async () => {
      // On a connection of its own: one that is idle when the end begins is closed.
      using probe = new HttpClient(served.url);
      const { status } = await probe.ask({ method: 'GET', path: '/readyz' });
      return status === 503;
    }, 'the end to begin');
    const late = await session.call('s__echo', { text: 'late' });
    expect(faultOf(late)).toMatchObject({ code: 'draining', dispatched: 'no' });
    for (const { json } of [await modern, await legacy]) {
      expect(json.result.isError ?? false).toBe(false);
    }
    const { code, stderr } = await stopped;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('answers a client of 2024 on its stream, and what takes too long is unknown #drain', async () => {
    const { home, slowCall } = hurried;
    const served = await home.serve();
    using client = new HttpClient(served.url);
    const stream = await client.open({ method: 'GET', path: '/sse' });
    const path = (await stream.next()).data ?? '';
    const headers = { 'content-type': 'application/json' };
    const post = (body: object) => client.ask({ path, headers, body });
    await post(legacyHello(0, '2024-11-05'));
    await stream.message();
    const { params, arrived } = slowCall(600_000);
    await post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    await arrived();
    const stopped = served.stop();
    const answer = await stream.message();
    expect(faultOf(answer)).toMatchObject({ code: 'outcome_unknown', tool: 'slow' });
    await stream.ended();
    expect((await stopped).code).toBe(0);
  });

  it('ends at once at the second signal #drain', async () => {
    const { home, slowCall } = patient;
    const started = home.start(['--listen', '127.0.0.1:0', '--json']);
    await started.printed('\n');
    const { url } = JSON.parse(started.stdout);
    using client = new HttpClient(url);
    const { params, arrived } = slowCall(600_000);
    const pending = client.begin(modernRequest('tools/call', params));
    pending.answered.catch(() => {});
    await arrived();
    started.kill('SIGTERM');
    await until(async () => {
      using probe = new HttpClient(url);
      return (await probe.ask({ method: 'GET', path: '/readyz' })).status === 503;
    }, 'the end to begin');
    started.kill('SIGTERM');
    expect((await started.ended).signal).toBe('SIGTERM');
  });

  it('by Ctrl-C says what it waits for, and that a second one ends it at once #drain', async () => {
    const { home, slowCall } = patient;
    const started = home.start(['--listen', '127.0.0.1:0', '--json']);
    await started.printed('\n');
    const { url } = JSON.parse(started.stdout);
    using client = new HttpClient(url);
    const both = [slowCall(600_000), slowCall(600_000)];
    for (const { params } of both) {
      client.begin(modernRequest('tools/call', params)).answered.catch(() => {});
    }
    await Promise.all(both.map(({ arrived }) => arrived()));
    started.kill('SIGINT');
    await until(() => started.stderr.includes('\n'), 'a word about the calls');
    expect(started.stderr).toBe(
      'holdfast: waiting for 2 calls to end, up to 30 s (drainMs); press Ctrl-C again to end at once\n',
    );
    started.kill('SIGINT');
    const { signal, stderr } = await started.ended;
    expect(signal).toBe('SIGINT');
    expect(stderr.split('\n')[1]).toBe('holdfast: stopped at once');
  });

  it('by Ctrl-C without calls under way says nothing of waiting #drain', async () => {
    const started = patient.home.start(['--listen', '127.0.0.1:0', '--json']);
    await started.printed('\n');
    started.kill('SIGINT');
    expect(await started.ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('a gateway on stdio whose client does not read', () => {
  /** Asks for more than any pipe holds, and takes none of it. */
  async function unread() {
    const { home, ledger } = hurried;
    const { command, args, env } = home.stdioCommand;
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdin.on('error', () => {});
    const ended = once(child, 'exit');
    const done = () => readLedger(ledger).filter(({ phase }) => phase === 'done').length;
    const before = done();
    const text = 'x'.repeat(100_000);
    const say = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
    say(legacyHello());
    for (let id = 1; id <= 60; id += 1) {
      const params = { name: 's__echo', arguments: { text } };
      say({ jsonrpc: '2.0', id, method: 'tools/call', params });
    }
    // The pipe of the server holds three of them at most: the others are with the gateway.
    await until(() => done() >= before + 30, 'answers that nobody reads');
    return { child, ended };
  }

  it('ends at SIGTERM all the same #drain #slow-client', async () => {
    const { child, ended } = await unread();
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
  });

  it('ends with its input all the same #drain #slow-client', async () => {
    const { child, ended } = await unread();
    child.stdin.end();
    expect((await ended)[0]).toBe(0);
  });
});

describe('a gateway on stdio', () => {
  it('whose input ends answers all that it was asked, and exits with 0 #drain #stdio-session', async () => {
    const { home } = patient;
    const client = home.stdio();
    const call = { name: 's__slow', arguments: { ms: 300 } };
    const messages = [
      legacyHello(),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: call },
    ];
    // As `printf` does: everything at once, no line break at the end, and then nothing more.
    client.write(messages.map((message) => JSON.stringify(message)).join('\n'));
    const { code, stderr } = await client.end();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const answers = client.lines.map((line) => JSON.parse(line));
    const answer = (id: number) => answers.find((one) => one.id === id)?.result;
    expect(answer(1).tools.length).toBeGreaterThan(5);
    expect(answer(2)).toMatchObject({ content: expect.anything() });
    expect(answer(2).isError ?? false).toBe(false);
  });

  it('that gets SIGTERM answers what is under way, and what it cannot wait for too #drain', async () => {
    const { home, slowCall } = patient;
    const client = home.stdio();
    await client.initialize();
    const [soon, never] = [slowCall(700), slowCall(600_000)];
    client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: soon.params });
    client.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: never.params });
    await Promise.all([soon.arrived(), never.arrived()]);
    const { code, stderr } = await client.kill('SIGTERM');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const ended = await client.answer(1);
    expect(ended.result.isError ?? false).toBe(false);
    expect(faultOf(await client.answer(2))).toMatchObject({ code: 'outcome_unknown' });
  });
});
