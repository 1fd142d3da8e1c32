// What a call allocates is garbage when it has been answered, and the quick rounds of the garbage collector
// collect it. A structure that lets an old object refer to a young one undoes that: then everything of a
// call survives until the next full round, which costs a tenth of the processor's time and is seen by no
// other test. The figure is counted, not timed.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mainProgram } from '../support/build.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, Started } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { until } from '../support/until.ts';

const preload = fileURLToPath(new URL('survivors.cjs', import.meta.url));
const calls = 4_000;
const lanes = 16;
/** About 300 are measured: what the event log keeps until it is written. A call allocates 26,000. */
const mostBytesOfCall = 1_500;

let home: GatewayHome;

beforeAll(async () => {
  home = await GatewayHome.create({ mcpServers: { s: faultyStdio() } });
});

afterAll(() => home[Symbol.asyncDispose]());

async function survivingBytesOfCall(way: (client: HttpClient) => Promise<() => Promise<unknown>>) {
  const file = home.file(`survivors-${Math.random()}`);
  const flags = ['--max-semi-space-size=2', '--require', preload];
  const words = ['serve', '--config', home.configFile, '--listen', '127.0.0.1:0', '--json'];
  const env = { ...home.env, SURVIVORS_FILE: file };
  const child = spawn(process.execPath, [...flags, mainProgram, ...words], { env });
  child.stdin.end();
  const gateway = new Started(child);
  try {
    await gateway.printed('\n');
    const { url, pid } = JSON.parse(gateway.stdout) as { url: string; pid: number };
    using client = new HttpClient(url);
    const call = await way(client);
    const load = async (count: number) => {
      let left = count;
      const lane = async () => {
        while (left-- > 0) await call();
      };
      await Promise.all(Array.from({ length: lanes }, lane));
    };
    // Code is compiled, and what stays is there.
    await load(calls / 2);
    process.kill(pid, 'SIGUSR2');
    await until(() => existsSync(file), 'counting has begun');
    await load(calls);
    process.kill(pid, 'SIGUSR2');
    await until(() => readFileSync(file, 'utf8') !== 'begun', 'the count is written');
    return Number(readFileSync(file, 'utf8')) / calls;
  } finally {
    await gateway.stop();
  }
}

describe('what a call has allocated does not survive it', () => {
  it('over HTTP #no-growth', async () => {
    const args = { text: 'x'.repeat(200) };
    const bytes = await survivingBytesOfCall(async (client) => () => client.call('s__echo', args));
    expect(bytes).toBeLessThan(mostBytesOfCall);
  });

  it('in a legacy session #no-growth', async () => {
    const args = { text: 'x'.repeat(200) };
    const bytes = await survivingBytesOfCall(async (client) => {
      const session = await client.session();
      let id = 0;
      return () => {
        id += 1;
        return session.call('s__echo', args, id);
      };
    });
    expect(bytes).toBeLessThan(mostBytesOfCall);
  });
});
