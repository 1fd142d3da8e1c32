// A server at an address, which is nobody's child but ours: we start it, and when it has died, by a
// fault or by our own hand, we start it again on the same port. Between "down" and "up" in the file of
// windows nothing listens there.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Dice } from '../support/dice.ts';
import { faultyStdio } from '../support/faulty.ts';
import { pauseMs } from './client.ts';
import { monotonicMs } from './history.ts';
import { filesOf, markOf, rootsOf, type ServerSpec } from './servers.ts';

export class WebServer {
  readonly #spec: ServerSpec;
  readonly #folder: string;
  readonly #dice: Dice;
  #child: ChildProcess | undefined;
  #port = 0;
  #isWanted = true;
  #downMs: number | undefined;
  #kept: Promise<void> = Promise.resolve();

  private constructor(spec: ServerSpec, folder: string, dice: Dice) {
    this.#spec = spec;
    this.#folder = folder;
    this.#dice = dice;
  }

  static async start(spec: ServerSpec, folder: string, dice: Dice): Promise<WebServer> {
    const server = new WebServer(spec, folder, dice);
    server.#port = await freePort(dice);
    const { exited } = await server.#listen();
    server.#kept = server.#keep(exited);
    return server;
  }

  get name(): string {
    return this.#spec.name;
  }

  /** Is harm meant for it? */
  get isVictim(): boolean {
    return this.#spec.faultShare > 0;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/${this.#spec.transport === 'sse' ? 'sse' : 'mcp'}`;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Ends it; nothing listens on its port for so long. */
  down(ms: number): void {
    this.#downMs = ms;
    this.#child?.kill('SIGKILL');
  }

  async close(): Promise<void> {
    this.#isWanted = false;
    this.#child?.kill('SIGKILL');
    await this.#kept;
  }

  async #keep(first: Promise<unknown>): Promise<void> {
    for (let exited = first; ; ) {
      await exited;
      if (!this.#isWanted) return;
      this.#note('down');
      await pauseMs(this.#downMs ?? this.#dice.between(20, 300));
      this.#downMs = undefined;
      if (!this.#isWanted) return;
      this.#note('up');
      ({ exited } = await this.#listen());
    }
  }

  /** Resolves when it listens, or has ended before that. */
  async #listen(): Promise<{ readonly exited: Promise<unknown> }> {
    const { era } = this.#spec;
    const files = filesOf(this.#folder, this.#spec);
    const { command, args } = faultyStdio({
      ...files,
      era,
      ...rootsOf(this.#spec),
      ...markOf(this.#spec),
    });
    const options = ['--http', String(this.#port), '--until-eof'];
    const child = spawn(command, [...args, ...options], { stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child = child;
    const exited = once(child, 'exit');
    const line = once(createInterface(child.stdout), 'line') as Promise<[string]>;
    await Promise.race([exited, line]);
    return { exited };
  }

  #note(event: 'down' | 'up'): void {
    const line = JSON.stringify({ t: monotonicMs(), server: this.name, event });
    appendFileSync(join(this.#folder, 'windows.jsonl'), `${line}\n`);
  }
}

/** Below those that the kernel hands out: a connect to one of its own may meet itself. */
const ports = { least: 20_000, most: 32_000 };

async function freePort(dice: Dice): Promise<number> {
  for (;;) {
    const port = dice.between(ports.least, ports.most);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false, // somebody has it; another will do
    );
    server.close();
    if (isFree) return port;
  }
}
