// One client on stdio that asks for much and stops reading: how much memory its gateway takes, and how
// long it takes to end.

import { spawn } from 'node:child_process';
import { GatewayHome } from '../support/gateway-home.ts';
import { legacyHello } from '../support/gateway-stdio-client.ts';
import { until } from '../support/until.ts';
import type { Flood } from './crowd.ts';
import { endOf, homeConfig, residentMb } from './world.ts';

export interface StoppedStdio {
  readonly grownMb: number;
  readonly code: number | null;
  readonly endedMs: number;
}

/** Its memory has not grown for so many looks. */
const steadyLooks = 100;
/** Less cannot be all: so much waits before its servers are held up. */
const leastMb = 8;

export async function stoppedStdio(flood: Flood, calls: number): Promise<StoppedStdio> {
  await using home = await GatewayHome.create(homeConfig());
  const { command, args, env } = home.stdioCommand;
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  const pid = child.pid ?? 0;
  child.stdin.on('error', () => {});
  const say = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
  say(legacyHello());
  const call = (id: number, name: string, own: object) =>
    say({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: own, _meta: { progressToken: id } },
    });
  call(1, 'flood__echo', { text: 'awake' });
  await heard(child.stdout, '"awake"');
  child.stdout.pause();
  const atRestMb = residentMb(pid);
  for (let id = 2; id < calls + 2; id += 1) {
    call(id, 'flood__flood', { pieces: flood.pieces, bytes: flood.bytes });
    call(id + calls, 'flood__big', { bytes: flood.answerBytes });
  }
  let highestMb = 0;
  let looks = 0;
  await until(
    () => {
      const now = residentMb(pid);
      looks = now > highestMb + 1 ? 0 : looks + 1;
      highestMb = Math.max(highestMb, now);
      const hasBegun = highestMb - atRestMb > leastMb;
      return (hasBegun && looks > steadyLooks) || child.exitCode !== null;
    },
    'its memory to be steady',
    120_000,
  );
  const began = performance.now();
  child.kill('SIGTERM');
  const code = await endOf(child);
  return { grownMb: highestMb - atRestMb, code, endedMs: performance.now() - began };
}

async function heard(stream: NodeJS.ReadableStream, word: string): Promise<void> {
  let text = '';
  await new Promise<void>((resolve) => {
    stream.on('data', (chunk) => {
      text += chunk;
      if (text.includes(word)) resolve();
    });
  });
  stream.removeAllListeners('data');
}
