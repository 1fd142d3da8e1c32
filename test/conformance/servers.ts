// What the suite is pointed at: the fixture by itself, and the gateway in front of it. Each is a
// process with a folder of its own, and ends when it is disposed of.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { mainProgram } from '../support/build.ts';

export interface Endpoint extends AsyncDisposable {
  readonly url: string;
}

export type ServerEntry = Readonly<Record<string, unknown>>;

const fixtureProgram = fileURLToPath(new URL('fixture/main.mjs', import.meta.url));
const require = createRequire(import.meta.url);

export async function startFixture(options: readonly string[] = []): Promise<Endpoint> {
  const child = start([fixtureProgram, ...options], {});
  return { url: await urlOf(child), [Symbol.asyncDispose]: () => end(child) };
}

export function fixtureOnStdio(options: readonly string[] = []): ServerEntry {
  return { command: process.execPath, args: [fixtureProgram, '--stdio', ...options] };
}

const skillsProgram = fileURLToPath(
  new URL('../fixtures/servers/skills/main.mjs', import.meta.url),
);

/** A server of skills that the official SDK makes; the measure for the gateway in front of it. */
export async function startSkills(): Promise<Endpoint> {
  const child = start([skillsProgram, '--http'], {});
  return { url: await urlOf(child), [Symbol.asyncDispose]: () => end(child) };
}

export const skillsOnStdio: ServerEntry = { command: process.execPath, args: [skillsProgram] };

/** The gateway as the suite needs it: names as the servers gave them, and nothing of its own. */
export async function startGateway(
  mcpServers: Readonly<Record<string, ServerEntry>>,
): Promise<Endpoint> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-gateway-'));
  const config = join(folder, 'holdfast.json');
  const http = { auth: 'none' };
  const settings = { mcpServers, naming: 'transparent', hostTools: false, http };
  await writeFile(config, JSON.stringify(settings));
  const args = ['serve', '--config', config, '--listen', '127.0.0.1:0', '--json'];
  const child = start([mainProgram, ...args], {
    HOME: folder,
    HOLDFAST_STATE: join(folder, 'state'),
  });
  const url = new URL(await urlOf(child));
  url.hostname = 'localhost'; // the suite checks rebinding protection on this name only
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await end(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Three servers that have nothing to do with the fixture; their files live in `folder`. */
export async function bystanders(folder: string): Promise<Readonly<Record<string, ServerEntry>>> {
  await mkdir(join(folder, 'files'), { recursive: true });
  return {
    everything: { command: process.execPath, args: [program('server-everything'), 'stdio'] },
    memory: {
      command: process.execPath,
      args: [program('server-memory')],
      env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
    },
    files: {
      command: process.execPath,
      args: [program('server-filesystem'), join(folder, 'files')],
    },
  };
}

function program(name: string): string {
  const root = dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`));
  return join(root, 'dist', 'index.js');
}

function start(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  return spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** These programs print one line when they listen. */
async function urlOf(child: ChildProcess): Promise<string> {
  if (child.stdout === null || child.stderr === null) throw new Error('no pipes');
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = once(child, 'exit').then(() => {
    throw new Error(`ended before it listened: ${errors}`);
  });
  const line = once(createInterface(child.stdout), 'line') as Promise<[string]>;
  const [text] = await Promise.race([line, ended]);
  ended.catch(() => {}); // from now on its ending is expected
  return (JSON.parse(text) as { url: string }).url;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
