// What the role of the local user ("local.role") keeps from the commands that use tools, for messages. Commands
// that operate a server need a role with "operator"; those that are about the config or the gateway as a whole are
// the local user's whatever its role is.

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

/** A line about the servers of the config that the local user may not use; undefined if there are none. */
export function hiddenByRole(config: Pick<Config, 'mcpServers'> & Ruled): string | undefined {
  const { role } = config.local;
  if (role === null) return undefined;
  const hidden = Object.keys(config.mcpServers).filter((server) => localDenial(config, server));
  if (hidden.length === 0) return undefined;
  const whose = `the local user has the role '${role}' ("local.role" in the config)`;
  return printableLine(
    `${whose}, which allows nothing of ${hidden.join(', ')}; see: holdfast role ${role}`,
  );
}
