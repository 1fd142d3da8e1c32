// A gateway whose database hangs: each time it forces something to the disk, that takes seconds. Calls
// without an idempotency key do not need the database and are not to notice it; a call with a key waits.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { quantile } from '../../chaos/tally.ts';
import { atMost, type Figure, fact } from '../../proof/report.ts';
import { faultyStdio } from '../../support/faulty.ts';
import { GatewayHome, Started } from '../../support/gateway-home.ts';
import { HttpClient } from '../../support/gateway-http-client.ts';
import { straceArguments } from './traced.ts';
import { companions } from './written-home.ts';

export class HangingGateway implements AsyncDisposable {
  readonly #home: GatewayHome;
  readonly #started: Started;
  readonly #pid: number;
  readonly #client: HttpClient;
  #calls = 0;

  private constructor(home: GatewayHome, started: Started, at: { url: string; pid: number }) {
    this.#home = home;
    this.#started = started;
    this.#pid = at.pid;
    this.#client = new HttpClient(at.url);
  }

  /** Everything that its database forces to the disk takes so long. */
  static async start(build: string, delayMs: number): Promise<HangingGateway> {
    const home = await GatewayHome.create({ mcpServers: { bank: faultyStdio() } });
    const { database } = home.place;
    const strace = straceArguments({
      paths: companions.map((end) => `${database}${end}`),
      inject: [`fsync,fdatasync:delay_enter=${delayMs * 1_000}`],
    });
    const program = [process.execPath, join(build, 'cli/main.js'), 'serve', '--config'];
    const args = [...program, home.configFile, '--listen', '127.0.0.1:0', '--json'];
    const child = spawn('strace', [...strace, ...args], { cwd: home.folder, env: home.env });
    child.stdin.end();
    const started = new Started(child);
    await started.printed('\n');
    const at = JSON.parse(started.stdout.slice(0, started.stdout.indexOf('\n')));
    return new HangingGateway(home, started, at);
  }

  /** Its result is true if it was answered without an error. */
  async call(hasKey: boolean): Promise<boolean> {
    this.#calls += 1;
    const nonce = `n${this.#calls}`;
    const meta = hasKey ? { 'holdfast/idempotencyKey': nonce } : {};
    const { result } = await this.#client.call('bank__add', { key: 'a', amount: 1, nonce }, meta);
    return result !== undefined && result.isError !== true;
  }

  /** It does not wait for its disk. */
  async [Symbol.asyncDispose](): Promise<void> {
    process.kill(this.#pid, 'SIGKILL');
    // It would wait for the end of the delay.
    this.#started.kill('SIGKILL');
    await this.#started.ended;
    this.#client[Symbol.dispose]();
    await this.#home[Symbol.asyncDispose]();
  }
}

const delayMs = 2_000;
const slices = 4;
const callsOfSlice = 500;

/** In alternating slices, with the database at rest and with one that hangs all the time. */
export async function measureHanging(
  build: string,
  signal: AbortSignal,
): Promise<readonly Figure[]> {
  await using gateway = await HangingGateway.start(build, delayMs);
  // The database is open, and everything is compiled, when this has ended.
  await gateway.call(true);
  await callsOf(gateway);
  const resting: number[] = [];
  const hanging: number[] = [];
  let keyed = 0;
  for (let slice = 0; slice < slices && !signal.aborted; slice += 1) {
    resting.push(...(await callsOf(gateway)));
    let isOver = false;
    const wait = async () => {
      while (!isOver) {
        await gateway.call(true);
        keyed += 1;
      }
    };
    const waiting = Promise.all([wait(), wait()]);
    hanging.push(...(await callsOf(gateway)));
    isOver = true;
    await waiting;
  }
  const [at, beside] = [quantile(resting, 0.99), quantile(hanging, 0.99)];
  return [
    fact('p99 of calls without a key, database at rest, ms', at),
    fact('p99 of calls without a key, database hanging 2 s at each fsync, ms', beside),
    atMost('the second to the first', beside / at, 2),
    fact('calls with a key that waited for it', keyed),
  ];
}

/** How long each took, in ms. */
async function callsOf(gateway: HangingGateway): Promise<readonly number[]> {
  const took: number[] = [];
  for (let call = 0; call < callsOfSlice; call += 1) {
    const began = performance.now();
    if (!(await gateway.call(false))) throw new Error('a call has failed');
    took.push(performance.now() - began);
  }
  return took;
}
