// What a reader has found in databases. If the process of the reader ends while it reads one of them, that
// is what is said of that database, and another reader goes on with the next.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Written } from './workload.ts';

export type Found =
  | { readonly is: 'there'; readonly value: Written }
  | { readonly is: 'absent' | 'unreadable' };

export interface Contents {
  readonly kind: 'read';
  /** By the key, with a letter before it. */
  readonly records: Readonly<Record<string, Found>>;
  /** By the key, with a letter before it; null if it cannot be read. */
  readonly counts: Readonly<Record<string, number | null>>;
  readonly entries: readonly { readonly sequence: number; readonly value: Written }[] | null;
  readonly next: number | null;
  readonly items: readonly Written[] | null;
  readonly size: number | null;
  readonly isWhole: boolean;
  readonly isWell: boolean;
  readonly problems: readonly string[];
}

export type Reading =
  | Contents
  /** The store says why it cannot use the file. */
  | { readonly kind: 'refused'; readonly detail: string }
  /** The process has ended. */
  | { readonly kind: 'died'; readonly detail: string };

const program = fileURLToPath(new URL('./reader.ts', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Reads databases one after the other; `node` is the program that runs it. */
export class Reader implements Disposable {
  readonly #node: string;
  readonly #build: string;
  #ends: (() => void) | undefined;
  #ask: ((file: string) => Promise<Reading>) | undefined;

  constructor(node: string, build: string) {
    this.#node = node;
    this.#build = build;
  }

  read(file: string): Promise<Reading> {
    this.#ask ??= this.#start();
    return this.#ask(file);
  }

  [Symbol.dispose](): void {
    this.#ends?.();
  }

  #start(): (file: string) => Promise<Reading> {
    const child = spawn(this.#node, ['--import', 'tsx', program, this.#build], {
      cwd: root,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let complaint = '';
    let answer: (reading: Reading) => void = () => {};
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = `${complaint}${text}`.slice(-500);
    });
    child.stdin.on('error', () => {});
    createInterface({ input: child.stdout }).on('line', (line) => answer(JSON.parse(line)));
    child.on('close', (code, signal) => {
      this.#ask = undefined;
      answer({ kind: 'died', detail: `${code ?? signal}: ${complaint.trim()}` });
    });
    this.#ends = () => child.kill('SIGKILL');
    return (file) =>
      new Promise((resolve) => {
        answer = resolve;
        child.stdin.write(`${file}\n`);
      });
  }
}
