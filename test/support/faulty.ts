// Starts the faulty server (fixtures/servers/faulty) for a test: as a command for a config entry,
// or as an HTTP server of its own that ends with the test. Its options and faults are described in
// the README.md beside it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Misbehaviour } from '../fixtures/servers/faulty/misbehaviour.ts';

export interface FaultyOptions {
  readonly era?: 'legacy' | 'modern' | 'both';
  /** What a legacy server does with the unknown `server/discover`. */
  readonly probe?: 'exit' | 'hang' | 'garbage' | 'error';
  readonly faults?: readonly Misbehaviour[];
  /** A file of faults that can be rewritten while the server runs; see `writeControl`. */
  readonly control?: string;
  readonly ledger?: string;
  readonly starts?: string;
  readonly children?: string;
  readonly state?: string;
  /** Stands in the descriptions of its tools and in their results. */
  readonly mark?: string;
  /** Whether HTTP answers are JSON, events, or events only when something comes before the answer. */
  readonly respond?: 'auto' | 'json' | 'sse';
  readonly legacyVersion?: string;
  readonly listTtlMs?: number;
  readonly listScope?: 'public' | 'private';
  /** Does it ask for its client's roots, and have the tool that tells them? */
  readonly roots?: boolean;
  /** Has it that tool, and asks only in calls of it that say so? */
  readonly rootsInCalls?: boolean;
}

export interface FaultyCommand {
  readonly command: string;
  readonly args: string[];
}

export interface FaultyHttp extends AsyncDisposable {
  /** Streamable HTTP. */
  readonly url: string;
  /** The HTTP+SSE transport of 2024. */
  readonly sseUrl: string;
  readonly port: number;
  readonly pid: number;
}

const MAIN = fileURLToPath(new URL('../fixtures/servers/faulty/main.mjs', import.meta.url));

/** The command and arguments of a stdio server, as they stand in a config entry. */
export function faultyStdio(options: FaultyOptions = {}): FaultyCommand {
  return { command: process.execPath, args: [MAIN, ...flagsOf(options)] };
}

/** Starts the HTTP form. It ends when it is disposed of, or when this process does. */
export async function faultyHttp(
  options: FaultyOptions & { readonly port?: number } = {},
): Promise<FaultyHttp> {
  const { command, args } = faultyStdio(options);
  const child = spawn(command, [...args, '--http', String(options.port ?? 0), '--until-eof'], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const errors = collectTail(child);
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line') as Promise<[string]>,
    once(child, 'exit').then(() => {
      throw new Error(`the faulty server ended before it listened: ${errors.join('')}`);
    }),
  ]);
  const { port } = JSON.parse(line) as { port: number };
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    sseUrl: `http://127.0.0.1:${port}/sse`,
    port,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: () => end(child),
  };
}

/** Replaces the control file in one step, so that the server never reads half of it. */
export async function writeControl(file: string, faults: readonly Misbehaviour[]): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify({ faults }));
  await rename(`${file}.new`, file);
}

/** A folder for ledgers, control files and the like; it goes with everything in it. */
export async function temporaryFolder(): Promise<
  AsyncDisposable & { readonly path: string; file(name: string): string }
> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

function flagsOf(options: FaultyOptions): string[] {
  const flags = {
    '--era': options.era,
    '--probe': options.probe,
    '--control': options.control,
    '--ledger': options.ledger,
    '--starts': options.starts,
    '--children': options.children,
    '--state': options.state,
    '--mark': options.mark,
    '--respond': options.respond,
    '--legacy-version': options.legacyVersion,
    '--list-ttl': options.listTtlMs,
    '--list-scope': options.listScope,
  };
  return [
    ...Object.entries(flags).flatMap(([flag, value]) =>
      value === undefined ? [] : [flag, String(value)],
    ),
    ...(options.roots === true ? ['--roots'] : []),
    ...(options.rootsInCalls === true ? ['--roots-in-calls'] : []),
    ...(options.faults ?? []).flatMap((fault) => ['--fault', JSON.stringify(fault)]),
  ];
}

/** Drains stderr, which would block the server when full, and keeps the last of it. */
function collectTail(child: ChildProcess): string[] {
  const tail: string[] = [];
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail.push(text.slice(-2000));
    if (tail.length > 4) tail.shift();
  });
  return tail;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
