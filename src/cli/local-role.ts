// What the role of the local user ("local.role") keeps from the commands that use tools, for messages. Commands
// that operate the gateway are not concerned by it.

import type { Config } from '../config/schema.ts';
import { printableLine } from '../kernel/printable.ts';
import { serverRequest } from '../policy/access.ts';
import { Roles } from '../policy/roles/roles.ts';

type Ruled = Pick<Config, 'roles' | 'local'>;

/** Why the local user may not use this server, or this tool of it; undefined if it may. */
export function localDenial(config: Ruled, server: string, tool?: string): string | undefined {
  const { role } = config.local;
  if (role === null) return undefined;
  const request =
    tool === undefined
      ? serverRequest('list', server)
      : ({ action: 'call', server, kind: 'tool', name: tool, method: null } as const);
  const why = new Roles(config).denial(role, request);
  return why && `${why} ("local.role" in the config); see: holdfast role ${role}`;
}

/** Of these servers, those that the local user may use, and a line about the others. */
export function usableByRole(
  config: Ruled | undefined,
  servers: readonly string[],
): { readonly usable: readonly string[]; readonly note: string | undefined } {
  const { role = null } = config?.local ?? {};
  if (config === undefined || role === null) return { usable: servers, note: undefined };
  const hidden = servers.filter((server) => localDenial(config, server) !== undefined);
  const usable = servers.filter((server) => !hidden.includes(server));
  if (hidden.length === 0) return { usable, note: undefined };
  const whose = `the local user has the role '${role}' ("local.role" in the config)`;
  const note = `${whose}, which allows nothing of ${hidden.join(', ')}; see: holdfast role ${role}`;
  return { usable, note: printableLine(note) };
}
