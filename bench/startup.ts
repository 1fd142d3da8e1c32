// A gateway with a hundred configured servers: how long from the start of its process until it
// listens, how long the first list from the kept catalogue takes, and how large it is when idle, with
// the reaper. Each round is a process of its own; the catalogue was kept by one that ran before them.
// `tsx bench/startup.ts` runs it by itself.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { tinyServer } from '../test/support/gateway-tiny-server.ts';
import { descendantsOf, residentMb, togetherMb } from './gateway/procfs.ts';
import { median } from './ratios.ts';

const servers = 100;
const toolsPerServer = 5;
const goals = { listeningMs: 300, listMs: 20, idleMb: 110 } as const;
const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

interface Sample {
  readonly listeningMs: number;
  readonly listMs: number;
  readonly idleMb: number;
  /** With the pages that two processes share counted for each. */
  readonly residentMb: number;
}

/** True if every goal is met. */
export async function benchStartup(rounds: number): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-startup-'));
  try {
    await writeConfig(folder);
    await keepCatalogue(folder);
    const samples: Sample[] = [];
    for (let round = 0; round < rounds; round += 1) samples.push(await measure(folder));
    console.log(
      `\nA gateway with ${servers} servers, medians of ${rounds} starts (lowest-highest):`,
    );
    const resident = median(samples.map((sample) => sample.residentMb));
    console.log(`         sum of what is resident of each process: ${resident.toFixed(1)} MB`);
    return [
      judge('listening after', 'ms', 'listeningMs', samples),
      judge('tools/list from the kept catalogue', 'ms', 'listMs', samples),
      judge('pid-holder, serving process and reaper when idle', 'MB', 'idleMb', samples),
    ].every((isMet) => isMet);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function judge(
  title: string,
  unit: string,
  figure: keyof typeof goals,
  samples: readonly Sample[],
) {
  const values = samples.map((sample) => sample[figure]);
  const [middle, low, high] = [median(values), Math.min(...values), Math.max(...values)].map(
    (value) => value.toFixed(1),
  );
  const isMet = median(values) <= goals[figure];
  const goal = `at most ${goals[figure]} ${unit}`;
  console.log(
    `  ${isMet ? 'met   ' : 'MISSED'} ${title} ${goal}: ${middle} ${unit} (${low}-${high})`,
  );
  return isMet;
}

// --- one gateway ---------------------------------------------------------------------------

async function writeConfig(folder: string): Promise<void> {
  const server = tinyServer({ starts: join(folder, 'starts'), tools: toolsPerServer });
  const names = Array.from({ length: servers }, (_, index) => `server-${index}`);
  // Each ends with its last call, so that an idle gateway has nobody beside it but the reaper.
  const entry = (name: string) => ({ ...server, env: { NAME: name }, keepAliveMs: 0 });
  const mcpServers = Object.fromEntries(names.map((name) => [name, entry(name)]));
  const config = { mcpServers, http: { auth: 'none' } };
  await writeFile(join(folder, 'holdfast.json'), JSON.stringify(config));
}

interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly url: string;
  readonly listeningMs: number;
}

async function start(folder: string): Promise<Running> {
  const startedAt = performance.now();
  const args = [main, 'serve', '--config', join(folder, 'holdfast.json')];
  const child = spawn(process.execPath, [...args, '--listen', '127.0.0.1:0', '--json'], {
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, HOLDFAST_STATE: join(folder, 'state') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const listeningMs = performance.now() - startedAt;
  const { url, pid } = JSON.parse(line) as { url: string; pid: number };
  return { child, pid, url, listeningMs };
}

async function stop({ child }: Running): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

async function keepCatalogue(folder: string): Promise<void> {
  const running = await start(folder);
  while ((await listLength(running.url)) < servers * toolsPerServer) await pause(100);
  await stop(running);
}

async function measure(folder: string): Promise<Sample> {
  const running = await start(folder);
  const askedAt = performance.now();
  const length = await listLength(running.url);
  const listMs = performance.now() - askedAt;
  if (length < servers * toolsPerServer) throw new Error(`the list has only ${length} tools`);
  if (descendantsOf(running.pid).length > own) throw new Error('a list has started a process');
  // With a key, so that the database is open.
  const call = { name: 'server-7__tool_1', arguments: {} };
  const key = { 'holdfast/idempotencyKey': `start-${running.pid}` };
  await post(running.url, 'tools/call', call, key);
  const sizes = await idleSizes(running.pid);
  await stop(running);
  return { listeningMs: running.listeningMs, listMs, ...sizes };
}

/** The serving process and the reaper are all that a gateway has below it. */
const own = 2;

/** Once there is nothing else. */
async function idleSizes(pid: number): Promise<Pick<Sample, 'idleMb' | 'residentMb'>> {
  let beside = descendantsOf(pid);
  while (beside.length !== own) {
    await pause(50);
    beside = descendantsOf(pid);
  }
  const all = [pid, ...beside];
  const sum = all.map(residentMb).reduce((total, size) => total + size, 0);
  return { idleMb: togetherMb(all), residentMb: sum };
}

// --- one client ----------------------------------------------------------------------------

interface CallParams {
  readonly name?: string;
  readonly arguments?: object;
}

async function listLength(url: string): Promise<number> {
  const { result } = JSON.parse(await post(url, 'tools/list', {}));
  return result.tools.length;
}

function post(url: string, method: string, params: CallParams, meta: object = {}): Promise<string> {
  const version = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    ...meta,
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
  const headers = {
    'content-type': 'application/json',
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(params.name === undefined ? {} : { 'mcp-name': params.name }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !(await benchStartup(15))) {
  process.exitCode = 1;
}
