// The official conformance suite against a server that is not ours, bare and through the gateway in
// transparent mode. The server is a command of the reader's (such as the everything servers of the
// public repositories typescript-sdk and conformance, in a folder outside of this one): it gets its
// port in PORT, serves MCP at /mcp there, and prints a line with the port when it listens. What it
// does not pass by itself is not asked of the gateway.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { installSuite } from '../conformance/installation.ts';
import type { Revision } from '../conformance/requirements.ts';
import { type Check, runServerSuite, type ScenarioResult } from '../conformance/run-suite.ts';
import { type Endpoint, startGateway } from '../conformance/servers.ts';
import { exactly, type Figure, fact, type Report } from '../proof/report.ts';

const revisions: readonly Revision[] = ['2025-11-25', '2026-07-28'];

/** Not scored: whether a server closes a stream in the middle of a call is its own choice. */
const ownChoice = 'server-sse-polling';

/** Made only where a list is answered by a stream; the gateway answers lists by JSON. */
const onlyForStreams = new Set(['server-sse-streams-functional']);

export async function compareConformance(
  command: string,
  progress: (text: string) => void,
): Promise<Report> {
  await installSuite();
  await using server = await startForeign(command);
  await using gateway = await startGateway({ foreign: { type: 'http', url: server.url } });
  const figures: Figure[] = [];
  const findings: string[] = [];
  for (const revision of revisions) {
    progress(`${revision}, bare`);
    const bare = await runServerSuite(server.url, revision);
    progress(`${revision}, through the gateway`);
    const through = await runServerSuite(gateway.url, revision);
    figures.push(fact(`${revision}: bare`, countsOf(bare)));
    figures.push(fact(`${revision}: through the gateway`, countsOf(through)));
    const lost = lostChecks(bare, through);
    figures.push(exactly(`${revision}: checks lost`, lost.length, 0));
    figures.push(fact(`${revision}: checks gained`, lostChecks(through, bare).length));
    findings.push(...lost.map((line) => `${revision}: ${line}`));
  }
  return { title: `conformance of ${command}`, figures, findings };
}

function countsOf(results: readonly ScenarioResult[]): string {
  const passed = (isRequired: boolean) => {
    const chosen = results.filter((result) => result.isRequired === isRequired);
    return `${chosen.filter((result) => result.passed).length} of ${chosen.length}`;
  };
  const sum = (key: 'succeeded' | 'failed' | 'warnings') =>
    results.reduce((total, result) => total + result[key], 0);
  return (
    `${passed(true)} required scenarios passed, ${passed(false)} not scored, ` +
    `checks: ${sum('succeeded')} succeeded, ${sum('failed')} failed, ${sum('warnings')} warnings`
  );
}

/** One line per check of a scenario that passes bare and ends otherwise, or not at all, through us. */
export function lostChecks(
  bare: readonly ScenarioResult[],
  through: readonly ScenarioResult[],
): readonly string[] {
  const found = new Map(through.map((result) => [result.name, result]));
  return bare.flatMap((expected) => {
    if (expected.name === ownChoice || !expected.passed) return [];
    const wrong = wrongChecks(expected);
    const after = found.get(expected.name);
    const worse = wrongChecks(after).filter(({ id }) => !wrong.some((check) => check.id === id));
    const there = new Set(after?.checks.map(({ id }) => id));
    const missing = expected.checks.filter(
      ({ id, status }) => status === 'SUCCESS' && !there.has(id) && !onlyForStreams.has(id),
    );
    // A scenario that breaks down leaves its other checks out: the failure alone tells enough.
    const lost = worse.length > 0 ? worse : missing;
    return lost.map((check) => `${expected.name}: ${wordsOf(check)}`);
  });
}

function wrongChecks(result: ScenarioResult | undefined): readonly Check[] {
  const checks = result?.checks ?? [];
  return checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
}

function wordsOf({ id, status, errorMessage }: Check): string {
  return status === 'SUCCESS' ? `${id} is not made` : `${status} ${id}: ${errorMessage}`;
}

async function startForeign(command: string): Promise<Endpoint> {
  const port = await freePort();
  const child = spawn('sh', ['-c', `exec ${command}`], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a group of its own, so that all of it can be ended
  });
  await listening(child, String(port));
  return { url: `http://localhost:${port}/mcp`, [Symbol.asyncDispose]: () => end(child) };
}

async function listening(child: ChildProcess, port: string): Promise<void> {
  if (child.stdout === null || child.stderr === null) throw new Error('no pipes');
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = `${errors}${text}`.slice(-2_000);
  });
  const lines = createInterface(child.stdout);
  const printed = new Promise<void>((resolve) => {
    lines.on('line', (line) => line.includes(port) && resolve());
  });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the server ended with ${code} before it printed its port: ${errors.trim()}`);
  });
  ended.catch(() => {}); // later its ending is expected
  await Promise.race([printed, ended]);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
