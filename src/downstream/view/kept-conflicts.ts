// Which tools and prompts a gateway would not offer under their own names, as far as it is kept what
// servers list and which names were given: for one who looks without a gateway, such as `doctor`. Nothing
// is started and nothing is written.

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
    new NameTable({ host, kind: 'tool', mode, reserved: ownToolNames(settings), learn }),
    new NameTable({ host, kind: 'prompt', mode, reserved: new Set(), learn }),
  ];
  const recalls = [
    ...host.servers().map((server) => server.recall()),
    ...tables.map((table) => table.recall()),
  ];
  // A record that cannot be read is as good as none; the store has told about it.
  await Promise.allSettled(recalls);
  return tables.flatMap((table) => table.conflicts());
}
