// The servers of the matrix (fixtures/servers/matrix): how a config names them, and what they saw.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Era } from '../../../src/wire/eras.ts';
import type { Door } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';

export interface ServerKind {
  /** As it stands at the end of a sentence. */
  readonly title: string;
  readonly era: Era;
  readonly program: 'sdk-1-legacy' | 'sdk-2-legacy' | 'sdk-2-modern';
  readonly transport: 'stdio' | 'http';
}

export const serverKinds: readonly ServerKind[] = (['stdio', 'http'] as const).flatMap(
  (transport) => {
    const place = transport === 'stdio' ? 'stdio' : 'HTTP';
    return [
      {
        title: `a legacy ${place} server (SDK 1)`,
        era: 'legacy',
        program: 'sdk-1-legacy',
        transport,
      },
      {
        title: `a legacy ${place} server (SDK 2)`,
        era: 'legacy',
        program: 'sdk-2-legacy',
        transport,
      },
      { title: `a modern ${place} server`, era: 'modern', program: 'sdk-2-modern', transport },
    ] as const;
  },
);

export function serverKind(
  program: ServerKind['program'],
  transport: ServerKind['transport'],
): ServerKind {
  const found = serverKinds.find((one) => one.program === program && one.transport === transport);
  if (!found) throw new Error(`no server ${program} over ${transport}`);
  return found;
}

/** One line of the server's journal. */
export type Entry = Record<string, unknown> & { readonly kind: string };

/** The server's folder: what it saw, and what it waits for. */
export class Probe {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  entries(kind: string, match: Readonly<Record<string, unknown>> = {}): Entry[] {
    const file = join(this.#folder, 'journal.jsonl');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return lines
      .map((line) => JSON.parse(line) as Entry)
      .filter((one) => one.kind === kind)
      .filter((one) => Object.entries(match).every(([key, value]) => one[key] === value));
  }

  /** The first such entry, as soon as it is there. */
  async saw(kind: string, match: Readonly<Record<string, unknown>>): Promise<Entry> {
    const found = () => this.entries(kind, match)[0];
    await until(
      () => found() !== undefined,
      `the server saw ${kind} ${JSON.stringify(match)}`,
      8_000,
    );
    return found() as Entry;
  }

  /** Lets the call with this tag go on. */
  async release(tag: string): Promise<void> {
    await writeFile(join(this.#folder, `released-${tag}`), '');
  }
}

export interface FixtureServer extends AsyncDisposable {
  readonly probe: Probe;
  /** Its entry in a config file. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** Where a client of its era reaches it without a gateway. */
  readonly door: Door;
}

const main = fileURLToPath(new URL('../../fixtures/servers/matrix/main.mjs', import.meta.url));

export async function startServer(kind: ServerKind): Promise<FixtureServer> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-matrix-'));
  const command = process.execPath;
  const args = [main, kind.program, folder];
  const probe = new Probe(folder);
  const clear = () => rm(folder, { recursive: true, force: true });
  if (kind.transport === 'stdio') {
    const door: Door = { kind: 'stdio', command, args, env: { PATH: process.env['PATH'] ?? '' } };
    return { probe, entry: { command, args }, door, [Symbol.asyncDispose]: clear };
  }
  const child = spawn(command, [...args, 'http'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const url = `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}/mcp`;
  return {
    probe,
    entry: { type: 'http', url },
    door: { kind: 'http', url },
    [Symbol.asyncDispose]: async () => {
      await ended(child);
      await clear();
    },
  };
}

/** It ends with its standard input. */
async function ended(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.stdin?.end();
  await exited;
}
