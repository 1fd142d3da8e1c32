// Which tools and prompts a gateway would not offer under their own names, computed from stored
// lists and names: for commands without a gateway, such as `doctor`. Nothing is started and nothing
// is written.

import type { NameConflict } from '../../catalog/name-conflicts.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import type { GatewaySettings } from '../gateway.ts';
import { wholeScope } from './scope.ts';

export async function keptConflicts(
  host: HostForGateway,
  settings: GatewaySettings,
): Promise<readonly NameConflict[]> {
  const { tools, prompts } = wholeScope({ host, settings, known: nothingKnown });
  const tables = [tools, prompts];
  const recalls = [
    ...host.servers().map((server) => server.recall()),
    ...tables.map((table) => table.recall()),
  ];
  // A record that cannot be read counts as missing; the store has reported it.
  await Promise.allSettled(recalls);
  return tables.flatMap((table) => table.conflicts());
}

function nothingKnown(): never {
  throw new TypeError('no list is read for this');
}
