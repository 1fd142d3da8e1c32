// Which tools and prompts a gateway would not offer under their own names, computed from stored
// lists and names: for commands without a gateway, such as `doctor`. Nothing is started and nothing
// is written.

import type { NameConflict } from '../../catalog/name-conflicts.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import type { GatewaySettings } from '../gateway.ts';
import { NameTable } from './name-table.ts';
import { ownToolNames } from './own-tools.ts';

export async function keptConflicts(
  host: HostForGateway,
  settings: GatewaySettings,
): Promise<readonly NameConflict[]> {
  const mode = settings.naming;
  const learn = async () => {};
  const tables = [
    new NameTable({ host, kind: 'tool', mode, reserved: () => ownToolNames(settings), learn }),
    new NameTable({ host, kind: 'prompt', mode, reserved: () => new Set(), learn }),
  ];
  const recalls = [
    ...host.servers().map((server) => server.recall()),
    ...tables.map((table) => table.recall()),
  ];
  // A record that cannot be read counts as missing; the store has reported it.
  await Promise.allSettled(recalls);
  return tables.flatMap((table) => table.conflicts());
}
