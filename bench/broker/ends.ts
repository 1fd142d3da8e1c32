// The two processes at the ends of every way, as their parent sees them.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Loaded, Order } from './end.ts';

const program = fileURLToPath(new URL('./end.ts', import.meta.url));
const built = new URL('../../test/proof/built.mjs', import.meta.url).href;

export class End implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  constructor(side: 'requester' | 'responder') {
    // What is measured is the build.
    const words = ['--import', 'tsx', '--import', built, program, side];
    this.#child = spawn(process.execPath, words, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#ended = once(this.#child, 'exit').then(() => {
      throw new Error('an end of the measurement has failed');
    });
    this.#ended.catch(() => {});
  }

  /** Rejects if the process ends instead of answering. */
  async carryOut(order: Order): Promise<Loaded | null> {
    const answered = once(this.#child, 'message') as Promise<[Loaded | null]>;
    this.#child.send(order);
    const [said] = await Promise.race([answered, this.#ended]);
    return said;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
