// A command in a terminal of its own, of a given size: util-linux's `script` makes the pseudo-terminal, as a
// person's terminal would. What it shows is kept as it comes; keys are typed as bytes.

import { type ChildProcess, spawn } from 'node:child_process';
import { Started } from './gateway-home.ts';

export interface TerminalCommand {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly columns: number;
  readonly rows: number;
}

export class Terminal {
  readonly #child: ChildProcess;
  readonly #started: Started;

  constructor({ args, env, cwd, columns, rows }: TerminalCommand) {
    const words = [process.execPath, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
    const line = `stty cols ${columns} rows ${rows}; exec ${words.join(' ')}`;
    const all = { ...env, TERM: 'xterm' };
    this.#child = spawn('script', ['-qefc', line, '/dev/null'], { cwd, env: all });
    this.#started = new Started(this.#child);
  }

  /** Everything it has shown so far, with its control sequences. */
  get shown(): string {
    return this.#started.stdout;
  }

  /** Its lines without control sequences. */
  get lines(): readonly string[] {
    return this.shown.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '').split(/\r*\n/);
  }

  showed(text: string): Promise<void> {
    return this.#started.printed(text);
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** As the window of a person: without a word to the command. */
  async close(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#started.ended;
  }

  /** The exit code of the command. */
  async ended(): Promise<number | null> {
    return (await this.#started.ended).code;
  }
}

export const ctrlC = '\u0003';
