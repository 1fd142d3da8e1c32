// A home for gateways that are killed: a config, a state directory and its injected disk faults, in which one
// gateway after the other is started. Each carries a mark of its own in its environment, and so does
// everything it starts, by which survivors are found.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Started } from '../support/gateway-home.ts';
import { Client } from './asking.ts';
import { FaultPlan } from './injected-faults/plan.ts';

/** An outer bound for a start on a busy machine; how long it takes is for the bench. */
const startBoundMs = 20_000;
/** The limit of the event log: the least that a config may say. */
export const logBytes = 65_536;

export interface Listening {
  readonly url: string;
  readonly token: string | null;
}

export class CrashHome implements Disposable {
  readonly name: string;
  readonly folder: string;
  readonly state: string;
  readonly faultPlan: FaultPlan;
  readonly #main: string;
  /** Told of each part that is removed. */
  onWipe: (part: string) => void = () => {};
  /** The state directory is a file system of its own, and cannot be removed. */
  isMounted = false;
  starts = 0;

  constructor(main: string, name: string) {
    this.#main = main;
    this.name = name;
    this.folder = mkdtempSync(join(tmpdir(), 'holdfast-crash-'));
    this.state = join(this.folder, 'lib', 'state');
    this.faultPlan = new FaultPlan(this.folder, this.state);
    mkdirSync(join(this.folder, 'home'));
    mkdirSync(join(this.folder, 'lib'));
  }

  /** The servers of the next start. */
  configure(mcpServers: object): void {
    const config = { mcpServers, telemetry: { maxBytes: logBytes } };
    writeFileSync(this.file('holdfast.json'), JSON.stringify(config, null, 2));
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  inState(name: string): string {
    return join(this.state, name);
  }

  /** Removes a part of the state directory, as its user may; '' is all of it. */
  wipe(part: string): void {
    if (part !== '') rmSync(this.inState(part), { recursive: true, force: true });
    else if (!this.isMounted) rmSync(this.state, { recursive: true, force: true });
    else for (const name of readdirSync(this.state)) this.wipe(name);
    this.onWipe(part);
  }

  get hasState(): boolean {
    return existsSync(this.state);
  }

  start(): Life {
    this.starts += 1;
    const mark = this.#mark(String(this.starts));
    // The process that writes is the one that is killed: a pid-holder would start another in its place.
    const words = ['serve', '--no-holder', '--listen', '127.0.0.1:0', '--json'];
    return new Life(this.#run(words, mark), mark);
  }

  /** Another command in the same state directory, with the same injected faults. */
  async command(args: readonly string[]): Promise<Started> {
    const child = this.#run(args, this.#mark('command'));
    const started = new Started(child);
    await started.ended;
    return started;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #mark(which: string): string {
    const above = process.env['HOLDFAST_INSTANCE'] ?? '';
    return `${above}crash-${process.pid}-${this.name}-${which}.0;`;
  }

  #run(args: readonly string[], mark: string) {
    const nodeArguments = [...this.faultPlan.nodeArguments, this.#main];
    const child = spawn(
      process.execPath,
      [...nodeArguments, ...args, '--config', this.file('holdfast.json')],
      {
        cwd: this.folder,
        env: {
          PATH: process.env['PATH'],
          HOME: this.file('home'),
          HOLDFAST_STATE: this.state,
          HOLDFAST_INSTANCE: mark,
          ...this.faultPlan.env,
        },
        stdio: ['pipe', 'pipe', 'pipe'],
        // A Ctrl-C is ours to deal with.
        detached: true,
      },
    );
    child.stdin.end();
    return child;
  }
}

/** Those that live now: when we end, for whatever reason, so do they. */
const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** One gateway, from its start to its end. */
export class Life implements Disposable {
  readonly mark: string;
  readonly pid: number;
  readonly process: Started;
  #client: Client | undefined;

  constructor(child: ChildProcess, mark: string) {
    this.mark = mark;
    this.pid = child.pid ?? 0;
    this.process = new Started(child);
    living.add(child);
    child.on('exit', () => living.delete(child));
  }

  /** What it prints when it listens; undefined if it refused, or ended before. Throws if it does neither. */
  async listening(): Promise<Listening | undefined> {
    let bound: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const words = `it did not listen within ${startBoundMs} ms`;
      bound = setTimeout(() => reject(new Error(words)), startBoundMs);
    });
    try {
      await Promise.race([this.process.printed('\n').catch(() => {}), late]);
    } finally {
      clearTimeout(bound);
    }
    const { stdout } = this.process;
    const end = stdout.indexOf('\n');
    if (end === -1) return undefined;
    const line: object = JSON.parse(stdout.slice(0, end));
    return 'url' in line ? (line as Listening) : undefined;
  }

  /** A client that holds this token. */
  client(url: string, token: string | null): Client {
    this.#client?.[Symbol.dispose]();
    this.#client = new Client(url, token);
    return this.#client;
  }

  get stderr(): string {
    return this.process.stderr;
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.process.ended;
  }

  [Symbol.dispose](): void {
    this.#client?.[Symbol.dispose]();
  }
}
