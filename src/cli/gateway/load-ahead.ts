// What a gateway loads only when it is first needed, loaded ahead: when another version is installed, the files of this
// one are gone, and it may serve for a long time before it is replaced, and end calls after that.

import { loadLink } from '../../broker/open-link.ts';
import { loadSearch } from '../../catalog/lazy-search.ts';
import type { Config } from '../../config/schema.ts';
import { loadHttpClient } from '../../upstream/http/lazy-http-client.ts';

/** `broker`: the address of one, besides that of the config. Rejects if something cannot be loaded. */
export async function loadAhead(
  { mcpServers, broker: configured }: Config,
  broker: string | undefined = configured?.url,
): Promise<void> {
  const isRemote = Object.values(mcpServers).some(({ type }) => type !== 'stdio');
  await Promise.all([
    loadSearch(),
    ...(isRemote ? [loadHttpClient()] : []),
    ...(broker === undefined ? [] : [loadLink(broker)]),
  ]);
}
