// Programs that leave a line in a file when somebody runs them, as a shell script and as a module of Node, and a port
// that counts who connects to it. Everything that a request wants to have started or opened leads to one of these.

import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { linesOf } from './world.ts';

export class Canary implements AsyncDisposable {
  readonly program: string;
  readonly module: string;
  readonly url: string;
  readonly #mark: string;
  readonly #server: Server;
  #visits = 0;

  private constructor(server: Server, file: (name: string) => string) {
    this.#server = server;
    this.#mark = file('canary-was-run');
    this.program = file('canary.sh');
    this.module = file('canary.cjs');
    writeFileSync(this.program, `#!/bin/sh\necho "$0 $*" >>'${this.#mark}'\n`);
    chmodSync(this.program, 0o755);
    const append = `require('node:fs').appendFileSync(${JSON.stringify(this.#mark)}, 'module\\n');\n`;
    writeFileSync(this.module, append);
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/canary`;
    server.on('connection', () => {
      this.#visits += 1;
    });
  }

  static async create(file: (name: string) => string): Promise<Canary> {
    const server = createServer((_, res) => res.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Canary(server, file);
  }

  /** What was run. */
  get runs(): readonly string[] {
    return linesOf(this.#mark);
  }

  /** How often somebody has connected. */
  get visits(): number {
    return this.#visits;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
