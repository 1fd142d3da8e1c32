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

export interface Variant {
  /** A `dist` folder. */
  readonly build: string;
  /** True, if absent. */
  readonly hasHolder?: boolean;
}

const builtHere = fileURLToPath(new URL('../../dist', import.meta.url));
export const variantHere: Variant = { build: builtHere };
const prefix = 'lean__';

export function holdfastOnStdio(folder: string, variant = variantHere): StdioCommand {
  const { config, env } = home(join(folder, 'stdio'), 'none');
  return {
    name: 'holdfast',
    args: [...serve(variant), '--stdio', '--config', config],
    env,
    prefix,
  };
}

/** A window: an instance is started if none runs. */
export function holdfastConnect(folder: string): StdioCommand {
  const { config, env } = home(join(folder, 'connect'), 'none');
  const args = [programOf(builtHere), 'connect', '--config', config];
  return { name: 'connect', args, env, prefix };
}

export function holdfastOnHttp(
  folder: string,
  auth: 'none' | 'token',
  variant = variantHere,
): HttpCommand {
  const name = auth === 'none' ? 'holdfast' : 'holdfast, token';
  return { ...served(join(folder, auth), auth, variant), name, dialect: 'modern' };
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
export function holdfastInSession(folder: string, variant = variantHere): HttpCommand {
  const name = 'holdfast, session';
  return { ...served(join(folder, 'session'), 'none', variant), name, dialect: 'session' };
}

function programOf(build: string): string {
  return join(build, 'cli', 'main.js');
}

function serve({ build, hasHolder = true }: Variant): readonly string[] {
  return [programOf(build), 'serve', ...(hasHolder ? [] : ['--no-holder'])];
}

function served(folder: string, auth: 'none' | 'token', variant: Variant) {
  const { config, env } = home(folder, auth);
  const args = [...serve(variant), '--config', config, '--listen', '127.0.0.1:0', '--json'];
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
