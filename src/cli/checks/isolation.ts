// Says which servers keep state for one client, and whether their clients share it.

import type { Config } from '../../config/schema.ts';
import { statefulPackageIn } from '../../config/stateful-packages.ts';
import { type Check, note } from './check.ts';

export function checkIsolation({ mcpServers }: Config): readonly Check[] {
  return Object.entries(mcpServers).flatMap(([name, server]) => {
    const found = server.type === 'stdio' && statefulPackageIn(server.command, server.args);
    if (!found) return [];
    const told =
      server.isolation === 'client'
        ? `${found} keeps state for one client, so each client has a process of its own (isolation: client)`
        : `${found} keeps state for one client, and clients share it (isolation: ${server.isolation})`;
    return [note(name, told)];
  });
}
