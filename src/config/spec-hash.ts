// A fingerprint of everything that makes one server process or connection different from another:
// what is run or reached, with which environment and limits. Two entries with the same fingerprint
// may share a process, and facts about a server are stored under it. Policy (timeouts, queues,
// tools) is not part of it, because changing it restarts nothing. Of a value from a file or a command
// only the path or the command line is part of it. The fingerprint reveals none of
// its values, but it belongs only into the state directory, because a short secret could be guessed
// from it by trial.

import { hash } from 'node:crypto';
import { lasting } from './late-values.ts';
import type { ServerConfig } from './schema.ts';

const version = 'holdfast-spec-1';

export function specHash(server: ServerConfig): string {
  return hash('sha256', JSON.stringify([version, ...identity(server)]), 'hex');
}

/** Enough of it to tell the entries of one server from each other. */
export function shortSpec(server: ServerConfig): string {
  return specHash(server).slice(0, 16);
}

function identity(server: ServerConfig): readonly unknown[] {
  const { type, limits } = server;
  if (type !== 'stdio') {
    // Header names are case-insensitive.
    const headers = sortedPairs(server.headers, (name) => name.toLowerCase());
    return [type, server.url, headers, limits.frameBytes];
  }
  const { command, args, env, cwd, inheritEnv, allowEnv } = server;
  const { frameBytes, memoryMb, processes } = limits;
  const inherited = [...new Set(inheritEnv)].sort();
  const run = [type, command, args, sortedPairs(env), cwd, inherited];
  // Last and only if it is set: what is stored about other servers stays valid.
  const allowed = allowEnv.length > 0 ? [[...new Set(allowEnv)].sort()] : [];
  return [...run, frameBytes, memoryMb, processes, ...allowed];
}

function sortedPairs(
  map: Readonly<Record<string, string>>,
  nameOf: (name: string) => string = (name) => name,
): readonly (readonly [string, string])[] {
  return Object.entries(map)
    .map(([name, value]) => [nameOf(name), lasting(value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
