// Large results through a whole fleet: a real orchestrator (`holdfast serve --broker`) with a server that answers 20 MB,
// and a worker as a command (`holdfast proxy`) and as a program (`connectWorker()`). Measured is the time from the
// request to the last byte of the answer, or to the parsed result; every answer is compared with what the server sent.

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connectWorker } from '../../dist/index.js';
import { mainProgram } from '../../test/support/build.ts';
import { Fleet, type FleetBrokerName } from '../../test/support/fleet.ts';
import { leanServer } from '../gateway/lean-server.ts';
import { brokerGoals, type Goals } from '../goals.ts';

const megabyte = 1_000_000;
const bytes = 20 * megabyte;
/** An answer of the second is stored by the orchestrator before it is sent, because the call must not run twice. */
const tools = { 'only reads': 'reads__big_text', 'has an effect': 'acts__big_text' } as const;
/** Room for what the text gets around it. */
const frameBytes = 32 * 1024 * 1024;
const warmUps = 2;

interface Puller extends AsyncDisposable {
  /** Calls the tool once; what came, and how many milliseconds it took. */
  pull(tool: string): Promise<{ readonly text: string; readonly ms: number }>;
}

const brokers: readonly (readonly [FleetBrokerName, string])[] = [
  ['command', 'embedded'],
  ['nats', 'NATS'],
];

export async function benchLargeResults(rounds: number, goals: Goals): Promise<void> {
  console.log(`\na result of 20 MB, ${rounds} rounds`);
  for (const [broker, name] of brokers) {
    await using fleet = await Fleet.start(broker, {
      mcpServers: { reads: largeServer('reads'), acts: largeServer('acts') },
      roles: { reader: { allow: ['*'] } },
    });
    await using proxy = await startProxy(fleet);
    await using program = await startProgram(fleet);
    const pullers = new Map([
      ['proxy', proxy],
      ['connectWorker()', program],
    ]);
    for (const [way, puller] of pullers) {
      for (const [kind, tool] of Object.entries(tools)) {
        const rates = await measured(puller, tool, rounds);
        const title = `${name}, ${way}, a tool that ${kind}: 20 MB with`;
        goals.atLeastFigure(brokerGoals.largePerSecond, title, 'MB/s', rates);
      }
    }
  }
}

function largeServer(kind: 'reads' | 'acts') {
  const args = [...leanServer.args, String(bytes), kind];
  // Only a trusted server is believed that its tool only reads.
  return { ...leanServer, args, limits: { frameBytes }, trusted: kind === 'reads' };
}

/** Megabytes a second, one for each round. */
async function measured(puller: Puller, tool: string, rounds: number): Promise<readonly number[]> {
  const rates: number[] = [];
  for (let round = -warmUps; round < rounds; round += 1) {
    const { text, ms } = await puller.pull(tool);
    if (digestOf(text) !== expected) throw new Error(`an answer of ${text.length} is not intact`);
    if (round >= 0) rates.push(bytes / megabyte / (ms / 1_000));
  }
  return rates;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** As `servers/lean.mjs` makes it. */
const line = 'src/relay.ts:120 "the frame" was cut on the line feed, never inside of a string\n';
const expected = digestOf(
  line.repeat(Math.ceil(bytes / 84)).slice(0, Math.floor((bytes / 84) * 81)),
);

/** `holdfast proxy`, with a client that looks for the end of the line and parses nothing meanwhile. */
async function startProxy(fleet: Fleet): Promise<Puller> {
  const file = fleet.home.file('credential-of-the-proxy');
  writeFileSync(file, fleet.broker.credential('ann'), { mode: 0o600 });
  const args = [mainProgram, 'proxy', '--broker', fleet.broker.url, '--to', 'boss'];
  const env = { ...fleet.home.env, HOLDFAST_TOKEN_FILE: file };
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const clientInfo = { name: 'bench', version: '1' };
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  await asked(child, 'initialize', hello);
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  return {
    pull: async (tool) => {
      const began = performance.now();
      const answer = await asked(child, 'tools/call', { name: tool, arguments: {} });
      const ms = performance.now() - began;
      return { text: JSON.parse(answer.toString()).result.content[0].text, ms };
    },
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}

/** The answer as it came. */
async function asked({ stdin, stdout }: ChildProcess, method: string, params: object) {
  const came: Buffer[] = [];
  const whole = new Promise<void>((resolve) => {
    const heard = (chunk: Buffer) => {
      came.push(chunk);
      if (chunk.at(-1) !== 0x0a) return;
      stdout?.off('data', heard);
      resolve();
    };
    stdout?.on('data', heard);
  });
  stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}\n`);
  await whole;
  return Buffer.concat(came);
}

async function startProgram(fleet: Fleet): Promise<Puller> {
  const { url: broker } = fleet.broker;
  const credential = fleet.broker.credential('ann');
  const host = await connectWorker({ broker, to: 'boss', credential });
  return {
    pull: async (tool) => {
      const began = performance.now();
      const result = await host.call('boss', tool, {});
      const ms = performance.now() - began;
      const [block] = result.content ?? [];
      return { text: block?.type === 'text' ? block.text : '', ms };
    },
    [Symbol.asyncDispose]: () => host.close(),
  };
}
