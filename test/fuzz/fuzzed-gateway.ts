// The built gateway on trial, in a folder of its own: listening, or on pipes for one client. Behind it
// stands one server that writes down every call that reaches it and every start of its process.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { lookIntoHeap } from '../chaos/inspector.ts';
import { allProcesses, below, descriptorsOf } from '../chaos/process-list.ts';
import { faultyStdio } from '../support/faulty.ts';
import { StdioClient } from '../support/gateway-stdio-client.ts';
import { readLedger, readStarts } from '../support/ledger.ts';

/** What the gateway holds at a moment of rest. */
export interface Holding {
  readonly descriptors: number;
  readonly processes: number;
  readonly heapBytes: number;
}

const stopMs = 20_000;

export class GatewayFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-gateway-'));
  readonly #build: string;

  constructor(build: string, auth: 'none' | 'token') {
    this.#build = build;
    const files = faultyStdio({
      ledger: join(this.path, 'ledger'),
      starts: join(this.path, 'starts'),
    });
    const config = { http: { auth }, mcpServers: { files } };
    writeFileSync(join(this.path, 'holdfast.json'), JSON.stringify(config));
  }

  /** How often each call was executed, by its nonce. */
  executions(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { nonce, phase } of readLedger(join(this.path, 'ledger'))) {
      if (phase === 'begin' && nonce !== null) counts.set(nonce, (counts.get(nonce) ?? 0) + 1);
    }
    return counts;
  }

  get starts(): number {
    return readStarts(join(this.path, 'starts')).length;
  }

  start(nodeOptions: readonly string[], words: readonly string[]): ChildProcess {
    const { PATH = '', HOLDFAST_INSTANCE = '' } = process.env;
    const main = join(this.#build, 'cli', 'main.js');
    const args = [...nodeOptions, main, 'serve', '--config', join(this.path, 'holdfast.json')];
    return spawn(process.execPath, [...args, ...words], {
      cwd: this.path,
      env: { PATH, HOLDFAST_INSTANCE, HOME: this.path, HOLDFAST_STATE: join(this.path, 'state') },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  /** On pipes, with a client at them. */
  onPipes(): StdioClient {
    return new StdioClient(this.start([], ['--stdio']));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The gateway that listens. */
export class ListeningGateway implements AsyncDisposable {
  readonly folder: GatewayFolder;
  readonly port: number;
  readonly url: string;
  readonly token: string | null;
  readonly #child: ChildProcess;
  readonly #errors: string[];

  private constructor(folder: GatewayFolder, child: ChildProcess, errors: string[], line: string) {
    const { url, token } = JSON.parse(line) as { url: string; token: string | null };
    this.folder = folder;
    this.#child = child;
    this.#errors = errors;
    this.url = url;
    this.port = Number(new URL(url).port);
    this.token = token;
  }

  static async start(build: string, auth: 'none' | 'token'): Promise<ListeningGateway> {
    const folder = new GatewayFolder(build, auth);
    const child = folder.start(['--inspect=127.0.0.1:0'], ['--listen', '127.0.0.1:0', '--json']);
    const errors: string[] = [];
    child.stderr?.setEncoding('utf8').on('data', (text: string) => errors.push(text));
    const early = once(child, 'exit').then(() => {
      throw new Error(`the gateway ended before it listened: ${errors.join('')}`);
    });
    early.catch(() => {});
    const lines = createInterface(child.stdout as NodeJS.ReadableStream);
    const [line] = (await Promise.race([once(lines, 'line'), early])) as [string];
    return new ListeningGateway(folder, child, errors, line);
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What it has complained of, without what the inspector says. */
  get complaints(): readonly string[] {
    const lines = this.#errors.join('').split('\n');
    return lines.filter((line) => !/^(Debugger|For help, see|$)/.test(line));
  }

  async holding(): Promise<Holding> {
    const pid = this.#child.pid ?? 0;
    const address = /^Debugger listening on (ws:\S+)$/m.exec(this.#errors.join(''))?.[1] ?? '';
    const { usedBytes } = await lookIntoHeap(address);
    return {
      descriptors: descriptorsOf(pid).length,
      processes: below(pid, allProcesses()).length,
      heapBytes: usedBytes,
    };
  }

  /** Ends it as a service manager does; its exit code, null if it had to be killed. */
  async stop(): Promise<number | null> {
    if (this.isAlive) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const hung = setTimeout(() => this.#child.kill('SIGKILL'), stopMs);
      await ended;
      clearTimeout(hung);
    }
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.folder[Symbol.dispose]();
  }
}
