// A bad server beside the gateway: started by us, spoken to over bare pipes, read to the last byte, and
// started again when it has died or has been silent for too long, as a gateway would.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FaultyOptions, faultyStdio } from '../../support/faulty.ts';
import { pauseMs } from '../client.ts';
import { requestFrame } from '../dialects.ts';
import { restartMs } from './bad-servers.ts';

/** A timeout and a probe, as the gateway has them. */
const silenceMs = 7000;

export class BareServer {
  readonly #options: FaultyOptions;
  #child: ChildProcess | undefined;
  #isWanted = true;
  #lastId = 0;
  #heardMs = performance.now();
  #askedMs = 0;
  readonly #kept: Promise<void>;
  readonly #watch: NodeJS.Timeout;

  constructor(options: FaultyOptions) {
    this.#options = options;
    this.#kept = this.#keep();
    this.#watch = setInterval(() => this.#judge(), 500);
  }

  call(args: object): void {
    this.#lastId += 1;
    this.#askedMs = performance.now();
    const params = { name: 'echo', arguments: args };
    const frame = requestFrame('modern', this.#lastId, 'tools/call', params);
    if (this.#child?.stdin?.writable === true) this.#child.stdin.write(`${frame}\n`);
  }

  async close(): Promise<void> {
    this.#isWanted = false;
    clearInterval(this.#watch);
    this.#child?.kill('SIGKILL');
    await this.#kept;
  }

  async #keep(): Promise<void> {
    while (this.#isWanted) {
      const { command, args } = faultyStdio(this.#options);
      const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
      const exited = once(child, 'exit');
      this.#child = child;
      this.#heardMs = performance.now();
      child.stdin.on('error', () => {}); // its exit tells it
      child.stderr.resume();
      child.stdout.on('data', () => {
        this.#heardMs = performance.now();
      });
      await exited;
      if (this.#isWanted) await pauseMs(restartMs);
    }
  }

  #judge(): void {
    const isSilent = this.#askedMs - this.#heardMs > silenceMs;
    if (isSilent) this.#child?.kill('SIGKILL');
  }
}
