// Holdfast as a user runs it: the built command line, a config file with nothing but the server and
// how clients authenticate, so every policy is at its default; a state folder of its
// own, inside of the one given.

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HttpCommand } from './http-subject.ts';
import { leanServer } from './lean-server.ts';
import type { StdioCommand } from './stdio-subject.ts';

export const builtHere = fileURLToPath(new URL('../../dist', import.meta.url));
const prefix = 'lean__';

export function holdfastOnStdio(folder: string, build = builtHere): StdioCommand {
  const { config, env } = home(join(folder, 'stdio'), 'none');
  return {
    name: 'holdfast',
    args: [programOf(build), 'serve', '--stdio', '--config', config],
    env,
    prefix,
  };
}

/** A window: an instance is started if none runs. */
export function holdfastConnect(folder: string, build = builtHere): StdioCommand {
  const { config, env } = home(join(folder, 'connect'), 'none');
  return { name: 'connect', args: [programOf(build), 'connect', '--config', config], env, prefix };
}

export function holdfastOnHttp(
  folder: string,
  auth: 'none' | 'token',
  build = builtHere,
): HttpCommand {
  const name = auth === 'none' ? 'holdfast' : 'holdfast, token';
  return { ...served(join(folder, auth), auth, build), name, dialect: 'modern' };
}

/** With a token whose role has these patterns. */
export function holdfastWithRole(folder: string, allow: readonly string[]): HttpCommand {
  const roles = { bench: { allow } };
  const { config, env } = home(join(folder, 'role'), 'token', { roles });
  const program = programOf(builtHere);
  const words = [program, 'token', 'add', '--role', 'bench', '--json', '--config', config];
  const made = spawnSync(process.execPath, words, { env: { ...process.env, ...env } });
  const { token } = JSON.parse(made.stdout.toString()) as { token: string };
  const args = [program, 'serve', '--config', config, '--listen', '127.0.0.1:0', '--json'];
  return { args, env, prefix, token, name: 'holdfast, role', dialect: 'modern' };
}

/** The same for legacy clients: all calls belong to one session. */
export function holdfastInSession(folder: string, build = builtHere): HttpCommand {
  const name = 'holdfast, session';
  return { ...served(join(folder, 'session'), 'none', build), name, dialect: 'session' };
}

function programOf(build: string): string {
  return join(build, 'cli', 'main.js');
}

function served(folder: string, auth: 'none' | 'token', build: string) {
  const { config, env } = home(folder, auth);
  const args = [programOf(build), 'serve', '--config', config, '--listen', '127.0.0.1:0', '--json'];
  return { args, env, prefix };
}

function home(folder: string, auth: 'none' | 'token', more: object = {}) {
  const state = join(folder, 'state');
  mkdirSync(state, { recursive: true });
  const config = join(folder, 'holdfast.json');
  const servers = { mcpServers: { lean: leanServer } };
  writeFileSync(config, JSON.stringify({ ...servers, http: { auth }, ...more }));
  return { config, env: { HOLDFAST_STATE: state } };
}
