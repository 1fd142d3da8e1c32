// Real clients that keep one session over HTTP while the gateway is ended, by SIGTERM and by SIGKILL, and
// started again on its port, under a load of calls that change something. After each start every client
// makes its next call; nothing in its program knows of restarts. No effect of the load happens twice, and
// a call whose answer was lost is sent again with its idempotency key.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { exactly, fact, type Report } from '../proof/report.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { executions } from '../support/ledger.ts';
import { nodeOf, type RealClient } from './client-table.ts';
import { clientsFolder } from './installation.ts';
import { officialServer } from './official-servers.ts';

export interface RestartResult {
  readonly client: string;
  readonly calls: number;
  readonly failures: readonly string[];
}

export interface RestartResults {
  readonly clients: readonly RestartResult[];
  /** Calls of the load, with how often each had its effect. */
  readonly sent: number;
  readonly answered: number;
  readonly twice: number;
  /** Answered with a result, and without an effect. */
  readonly lost: number;
}

/** How long one client may take for one call. */
const callMs = 15_000;
const loadLanes = 4;

export async function runRestarts(
  clients: readonly RealClient[],
  restarts: number,
  progress: (text: string) => void,
): Promise<RestartResults> {
  await using home = await GatewayHome.create();
  await mkdir(home.file('files'));
  const ledger = home.file('ledger');
  await home.configure({
    mcpServers: {
      everything: officialServer('everything', home.file('files')),
      files: officialServer('filesystem', home.file('files')),
      bank: faultyStdio({ ledger }),
    },
    http: { auth: 'token' },
  });
  let gateway = await home.serve();
  const first: Served = gateway;
  const kept = clients.map((client) => new KeptClient(client, first));
  const load = new Load(first);
  try {
    for (const client of kept) await client.ready();
    for (let round = 0; round < restarts; round += 1) {
      const signal = round % 2 === 0 ? 'SIGKILL' : 'SIGTERM';
      process.kill(gateway.pid, signal);
      await gateway.ended;
      gateway = await home.serve(first);
      await Promise.all(kept.map((client) => client.call(`restart ${round + 1}, ${signal}`)));
      progress(`restart ${round + 1} of ${restarts}: ${kept.map((one) => one.mark).join(' ')}`);
    }
    await load.end();
    return {
      clients: kept.map(({ result }) => result),
      sent: load.nonces.length,
      answered: load.answered.size,
      twice: load.nonces.filter((nonce) => executions(ledger, nonce) > 1).length,
      lost: [...load.answered].filter((nonce) => executions(ledger, nonce) === 0).length,
    };
  } finally {
    load.isOver = true;
    for (const client of kept) client.end();
    await gateway.stop();
  }
}

export function restartReport(results: RestartResults, restarts: number): Report {
  const { clients, sent, answered, twice, lost } = results;
  const failures = clients.flatMap((one) => one.failures.map((why) => `${one.client}: ${why}`));
  return {
    title: 'restarts',
    figures: [
      fact('restarts', restarts),
      fact('clients', clients.length),
      fact('calls of clients after a restart', sum(clients.map(({ calls }) => calls))),
      exactly('of them failed', failures.length, 0),
      fact('calls of the load', sent),
      fact('of them answered with a result, some after being sent again', answered),
      exactly('effects twice', twice, 0),
      exactly('answered and without an effect', lost, 0),
    ],
    findings: failures,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}

interface Step {
  readonly step: string;
  readonly isOk: boolean;
  readonly saw: string;
}

/** One client in a process of its own, with one session. */
class KeptClient {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #failures: string[] = [];
  readonly #steps: Step[] = [];
  #calls = 0;
  #arrived: () => void = () => {};
  mark = '';

  constructor(client: RealClient, { url, token }: Served) {
    this.#name = client.name;
    const headers = { Authorization: `Bearer ${token}` };
    const interop = { transport: 'http', url, headers, isKept: true, ...client.options };
    const script = join(clientsFolder, `${client.script}.mjs`);
    this.#child = spawn(nodeOf(client), [script], {
      env: { ...process.env, INTEROP: JSON.stringify(interop) },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      if (!line.startsWith('{"step":')) return;
      this.#steps.push(JSON.parse(line) as Step);
      this.#arrived();
    });
    this.#child.on('close', () => this.#arrived());
  }

  get result(): RestartResult {
    return { client: this.#name, calls: this.#calls, failures: this.#failures };
  }

  async ready(): Promise<void> {
    for (const name of ['connect', 'list']) await this.#next(name);
  }

  /** Its next call. */
  async call(when: string): Promise<void> {
    this.#calls += 1;
    this.#child.stdin?.write('call\n');
    this.mark = (await this.#next(when)) ? 'ok' : this.#name;
  }

  end(): void {
    this.#child.stdin?.end();
    this.#child.kill('SIGKILL');
  }

  async #next(when: string): Promise<boolean> {
    const late = new Promise<void>((resolve) => setTimeout(resolve, callMs).unref());
    const arrived = new Promise<void>((resolve) => {
      this.#arrived = resolve;
    });
    if (this.#steps.length === 0) await Promise.race([arrived, late]);
    const step = this.#steps.shift();
    if (step?.isOk === true) return true;
    this.#failures.push(`${when}: ${step?.saw ?? 'no answer'}`);
    return false;
  }
}

/** Calls that change something, each with a key: sent again until they are answered. */
class Load {
  readonly nonces: string[] = [];
  readonly answered = new Set<string>();
  isOver = false;
  readonly #lanes: readonly Promise<void>[];
  readonly #served: Served;

  constructor(served: Served) {
    this.#served = served;
    this.#lanes = Array.from({ length: loadLanes }, (_, lane) => this.#lane(lane));
  }

  async end(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.#lanes);
  }

  async #lane(lane: number): Promise<void> {
    for (let number = 0; !this.isOver; number += 1) {
      const nonce = `load-${lane}-${number}`;
      this.nonces.push(nonce);
      while (!(await this.#isAnswered(nonce))) {
        if (this.isOver) break;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** Undecided, it is sent again: the key keeps it from running again. */
  async #isAnswered(nonce: string): Promise<boolean> {
    const authorization = `Bearer ${this.#served.token}`;
    using client = new HttpClient(this.#served.url, { authorization });
    const args = { key: 'a', amount: 1, nonce };
    try {
      const { result } = await client.call('bank__add', args, { 'holdfast/idempotencyKey': nonce });
      if (result === undefined) return false;
      const fault = result._meta?.['holdfast/fault'];
      if (fault === undefined) this.answered.add(nonce);
      // The outcome of a call that a kill has met is not known: that is final.
      return fault === undefined || fault.code === 'outcome_unknown';
    } catch {
      return false; // there is no gateway at this moment
    }
  }
}
