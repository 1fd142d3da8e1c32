// Servers that print to stdout what is not MCP, as real processes: log lines, banners, floods. One
// that still answers stays; one that prints and does nothing else ends.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Host } from '../../src/host/host.ts';
import { faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { faultOf, hostWith, statusOf, textOf } from '../support/host.ts';
import { readStarts } from '../support/ledger.ts';
import { until } from '../support/until.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let host: Host | undefined;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await host?.close();
  host = undefined;
  await folder[Symbol.asyncDispose]();
});

const logLine = '[info] handling a request, all is well';

describe('a server that prints to stdout what is not MCP', () => {
  it('answers 500 calls with 30 log lines each, and its noise is counted #noise #status', async () => {
    const starts = folder.file('starts');
    const faults = [{ kind: 'banner', when: 'at-call', lines: 30, text: logLine }] as const;
    host = await hostWith({ box: faultyStdio({ starts, faults }) });
    for (let call = 0; call < 500; call++) {
      expect(textOf(await host.call('box', 'echo', { text: `${call}` }))).toBe(`${call}`);
    }
    expect(readStarts(starts)).toHaveLength(1);
    expect(host.status().calls).toMatchObject({ total: 500, ok: 500, faults: 0 });
    expect(statusOf(host, 'box')).toMatchObject({ state: 'ready', noise: { 'not-json': 15_000 } });
  });

  it('starts behind a banner of 1,500 lines #noise', async () => {
    const faults = [{ kind: 'banner', lines: 1_500, text: logLine }] as const;
    host = await hostWith({ box: faultyStdio({ faults }) });
    expect(textOf(await host.call('box', 'echo', { text: 'here' }))).toBe('here');
    expect(statusOf(host, 'box').noise['not-json']).toBe(1_500);
  });

  it('does not start if there is no end to it, and reports that #noise', async () => {
    const endless =
      'for (;;) require("node:fs").writeSync(1, "[info] still starting\\n".repeat(1000))';
    host = await hostWith({ box: { command: process.execPath, args: ['-e', endless] } });
    const fault = await faultOf(host.call('box', 'echo', {}));
    expect(fault.record).toMatchObject({ code: 'protocol_violation', dispatched: 'no' });
    expect(fault.message).toContain('bytes to stdout that are not MCP before the handshake');
  });

  it('is answered in the middle of a flood, and another server does not notice it #noise', async () => {
    host = await hostWith({
      flood: { command: process.execPath, args: ['-e', floodServer] },
      box: faultyStdio(),
    });
    const running = host;
    await running.call('flood', 'start', {});
    for (let call = 0; call < 20; call++) {
      expect(textOf(await running.call('flood', 'start', {}))).toBe('ok');
      expect(textOf(await running.call('box', 'echo', { text: 'fine' }))).toBe('fine');
    }
    await until(() => (statusOf(running, 'flood').noise['not-json'] ?? 0) > 100_000, 'it floods');
    expect(statusOf(running, 'flood')).toMatchObject({ state: 'ready', generation: 1 });
    expect(running.status().calls).toMatchObject({ total: 41, ok: 41 });
  });

  it('ends when it prints without end, its call times out and a probe fails too #noise', async () => {
    host = await hostWith({ flood: { command: process.execPath, args: ['-e', floodServer] } });
    const running = host;
    const stuck = running.call('flood', 'stuck', {}, { timeoutMs: 500 });
    expect((await faultOf(stuck)).code).toBe('timeout');
    await until(
      () => statusOf(running, 'flood').generation !== 1 || statusOf(running, 'flood').pid === null,
      'it has ended',
    );
    expect(textOf(await running.call('flood', 'start', {}))).toBe('ok');
    expect(statusOf(running, 'flood').generation).toBe(2);
  });
});

/**
 * Answers everything, and floods stdout from its first call on as fast as the pipe takes it; after
 * `stuck` it does nothing else.
 */
const floodServer = `
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'flood', version: '1' } },
    'tools/list': { tools: ['start', 'stuck'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
    'tools/call': { content: [{ type: 'text', text: 'ok' }] },
  };
  let isFlooding = false;
  function flood() {
    if (process.stdout.write('[debug] x\\n'.repeat(5000))) setImmediate(flood);
    else process.stdout.once('drain', flood);
  }
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    while (params?.name === 'stuck') process.stdout.write('[debug] x\\n'.repeat(5000));
    const result = results[method];
    send(result ? { id, result } : { id, error: { code: -32601, message: 'unknown' } });
    if (method !== 'tools/call' || isFlooding) return;
    isFlooding = true;
    flood();
  });
`;
