// What is kept for clients ends with them, seen from outside: requests that were cancelled end, and memory
// after many clients have come and gone is what it was after a few. The built gateway, with the garbage
// collected before each look.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mainProgram } from '../support/build.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, Started } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { legacyHeaders } from '../support/http-front.ts';
import { phases } from '../support/ledger.ts';
import { until } from '../support/until.ts';

const preload = fileURLToPath(new URL('heap.cjs', import.meta.url));

describe('what is kept for clients over HTTP', () => {
  let home: GatewayHome;
  let gateway: Started;
  let url: string;
  let pid: number;
  let ledger: string;

  beforeAll(async () => {
    home = await GatewayHome.create();
    ledger = home.file('ledger');
    await home.configure({ mcpServers: { s: faultyStdio({ ledger }) } });
    const words = ['serve', '--config', home.configFile, '--listen', '127.0.0.1:0', '--json'];
    const env = { ...home.env, HEAP_FILE: home.file('heap') };
    const flags = ['--expose-gc', '--require', preload];
    const child = spawn(process.execPath, [...flags, mainProgram, ...words], { env });
    child.stdin.end();
    gateway = new Started(child);
    await gateway.printed('\n');
    ({ url, pid } = JSON.parse(gateway.stdout));
  });

  afterAll(async () => {
    await gateway.stop();
    await home[Symbol.asyncDispose]();
  });

  async function usedBytes(): Promise<number> {
    const file = home.file('heap');
    rmSync(file, { force: true });
    process.kill(pid, 'SIGUSR2');
    await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '', 'it was measured');
    return Number(readFileSync(file, 'utf8'));
  }

  const cancelled = (requestId: number) => ({
    ...{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
  });

  /** A client that comes, calls, cancels a call and leaves. */
  async function visit(number: number): Promise<void> {
    using client = new HttpClient(url);
    const session = await client.session();
    await session.call('s__echo', { text: `${number}` }, 1);
    await session.call(`s__none_${number}`, {}, 2);
    const nonce = `visit-${number}`;
    const fault = { kind: 'hang', effect: true };
    const pending = session.begin(
      'tools/call',
      { name: 's__add', arguments: { key: 'a', amount: 1, nonce, fault } },
      3,
    );
    await until(() => phases(ledger, nonce).includes('done'), 'the call is under way');
    await client.ask({ headers: legacyHeaders(session.id), body: cancelled(3) });
    // Its response ends: it does not wait for an answer that nobody wants.
    await pending.answered;
    if (number % 2 === 0) await session.delete();
  }

  async function visits(from: number, count: number): Promise<void> {
    for (let at = from; at < from + count; at += 10) {
      await Promise.all(Array.from({ length: 10 }, (_, n) => visit(at + n)));
    }
  }

  it('ends with them #no-growth #gone-client', async () => {
    await visits(0, 40);
    const before = await usedBytes();
    await visits(40, 160);
    const after = await usedBytes();
    // Half of the sessions stay until their idle time is over: each may have a few kilobytes.
    const perVisit = (after - before) / 160;
    expect(perVisit).toBeLessThan(12_000);
  });
});
