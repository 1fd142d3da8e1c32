// A folder with one database in it: the writer is run in it, under strace where something is to fail, and
// its files are copied, harmed and read.

import { spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { History, type Told } from './judge.ts';
import { type Ended, runTraced } from './traced.ts';
import { counterLimit, type Workload, writtenBy } from './workload.ts';

const writer = fileURLToPath(new URL('./writer.mjs', import.meta.url));
/** A writer that takes longer hangs. */
const boundMs = 120_000;

/** Beside the database: its log, its journal, and what Holdfast writes itself. */
export const companions = ['', '-wal', '-journal', '-acknowledged'] as const;

export interface WriterOptions {
  readonly node: string;
  readonly build: string;
  readonly inject?: readonly string[];
  /** The calls are written down. */
  readonly isLogged?: boolean;
  readonly isTraced?: boolean;
  /** Of which calls are written down, too. */
  readonly paths?: readonly string[];
}

export class WrittenHome implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-crash-'));
  readonly file = join(this.folder, 'state.db');
  readonly told = join(this.folder, 'told');
  readonly #log = join(this.folder, 'calls');

  async write(workload: Workload, options: WriterOptions): Promise<Ended> {
    const plan = join(this.folder, 'plan.json');
    const values = Object.fromEntries(
      workload.groups.flat().map((step) => {
        return [step.step, 'pad' in step ? writtenBy(step.step, step.pad) : null];
      }),
    );
    writeFileSync(plan, JSON.stringify({ workload, values, counterLimit }));
    const command = [options.node, writer, options.build, this.file, plan, this.told];
    if (options.isTraced === false) return runPlainly(command);
    return runTraced(['timeout', '-s', 'KILL', String(boundMs / 1_000), ...command], {
      paths: [this.folder, this.told, ...this.#files(), ...(options.paths ?? [])],
      inject: options.inject ?? [],
      ...(options.isLogged ? { log: this.#log } : {}),
    });
  }

  #files(): readonly string[] {
    return companions.map((end) => `${this.file}${end}`);
  }

  /** The calls, as strace has written them. */
  calls(): string {
    return readFileSync(this.#log, 'latin1');
  }

  history(workload: Workload): History {
    return new History(workload, this.lines());
  }

  lines(): readonly Told[] {
    const lines = readFileSync(this.told, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  /** The database as it is now, in another folder. */
  copyTo(folder: string): string {
    for (const name of readdirSync(this.folder)) {
      if (name.startsWith('state.db')) copyFileSync(join(this.folder, name), join(folder, name));
    }
    return join(folder, 'state.db');
  }

  bytes(end: string): Buffer {
    return existsSync(`${this.file}${end}`) ? readFileSync(`${this.file}${end}`) : Buffer.alloc(0);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function runPlainly([program = '', ...args]: readonly string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = `${stderr}${text}`.slice(-2_000);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stderr: stderr.trim() }));
  });
}
