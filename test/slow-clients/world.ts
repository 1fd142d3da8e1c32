// The gateway under test as a process, in front of a server that floods and one that is healthy; a
// healthy client beside the crowd; and what can be read of the gateway from outside.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Ended, GatewayHome } from '../support/gateway-home.ts';
import { workingPid } from '../support/serving-process.ts';
import { until } from '../support/until.ts';
import { envelope, modernHeaders } from './requests.ts';

const floodServer = fileURLToPath(new URL('flood-server.mjs', import.meta.url));
const prober = fileURLToPath(new URL('prober.mjs', import.meta.url));
export const drainMs = 2_000;

/** Longer than any round takes. */
const quietMs = 120_000;

export function homeConfig() {
  const server = { command: process.execPath, args: [floodServer] };
  // All of the crowd call at the same time; nobody is to wait for a place.
  const flood = { ...server, concurrency: 2000, queue: 2000, callTimeoutMs: quietMs };
  return { mcpServers: { flood, healthy: server }, drainMs };
}

/** What the gateway's own tool says of the servers. */
interface Structured {
  readonly status: {
    readonly servers: readonly { name: string; inFlight: number; queued: number }[];
  };
}

export interface Probed {
  readonly latenciesMs: readonly number[];
  readonly problems: readonly string[];
}

export class World implements AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  readonly #home: GatewayHome;
  readonly #url: string;
  readonly #stop: () => Promise<Ended>;
  #highestMb = 0;
  readonly #watch: NodeJS.Timeout;

  private constructor(home: GatewayHome, url: string, pid: number, stop: () => Promise<Ended>) {
    this.#home = home;
    this.port = Number(new URL(url).port);
    this.pid = pid;
    this.#stop = stop;
    this.#url = url;
    this.#watch = setInterval(() => this.#look(), 50);
  }

  static async start(): Promise<World> {
    const home = await GatewayHome.create(homeConfig());
    const { url, pid, stop } = await home.serve();
    return new World(home, url, pid, stop);
  }

  /** What a healthy client measures while the work is done. */
  async probing(work: () => Promise<void>): Promise<Probed> {
    const child = spawn(process.execPath, [prober, String(this.port)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    const ended = once(child, 'close');
    await work();
    child.stdin.end();
    await ended;
    return JSON.parse(printed) as Probed;
  }

  /** One call of a client that reads; its structured content. */
  async call(name: string, args: object): Promise<Structured> {
    const params = { name, arguments: args, _meta: envelope };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const headers = { ...modernHeaders('tools/call', name), accept: 'application/json' };
    const response = await fetch(this.#url, { method: 'POST', headers, body });
    const { result } = (await response.json()) as { result: { structuredContent: Structured } };
    return result.structuredContent;
  }

  /** No call is under way any more. */
  async quiet(): Promise<void> {
    await until(() => this.#isQuiet(), 'the calls of the crowd to end', quietMs);
  }

  async #isQuiet(): Promise<boolean> {
    await pause(100);
    const args = { render: 'json', detail: 'full' };
    const { status } = await this.call('holdfast__health_snapshot', args);
    return status.servers
      .filter(({ name }) => name === 'flood')
      .every(({ inFlight, queued }) => inFlight + queued === 0);
  }

  /** The most memory it has had since the last time this was asked. */
  takeHighestMb(): number {
    this.#look();
    const highest = this.#highestMb;
    this.#highestMb = 0;
    return highest;
  }

  /** SIGTERM: how it ended, how long that took, and what it had said on standard error. */
  async end(): Promise<Pick<Ended, 'code' | 'stderr'> & { readonly ms: number }> {
    clearInterval(this.#watch);
    const began = performance.now();
    const { code, stderr } = await this.#stop();
    return { code, stderr, ms: performance.now() - began };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#watch);
    await this.#stop();
    await this.#home[Symbol.asyncDispose]();
  }

  #look(): void {
    this.#highestMb = Math.max(this.#highestMb, residentMb(this.pid));
  }
}

export function residentMb(pid: number): number {
  try {
    const status = readFileSync(`/proc/${workingPid(pid)}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

export async function endOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}
