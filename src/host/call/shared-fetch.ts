// A call whose result may be cached, where several replicas share public results: another one may have it, or be about
// to have it. A result is shared only between servers with the same entry in the config.

import { hash } from 'node:crypto';
import { shortSpec } from '../../config/spec-hash.ts';
import type { Signal } from '../../kernel/cancel-signal.ts';
import type { Server } from '../servers/server.ts';
import type { Cacheable } from './cached-results.ts';
import type { CallParts } from './call-parts.ts';

export function fetchShared(
  { cache, sharedResults }: Pick<CallParts, 'cache' | 'sharedResults'>,
  server: Server,
  { key, mark }: Cacheable,
  fetch: () => Promise<Buffer>,
  signal: Signal,
): Promise<Buffer> {
  if (sharedResults === undefined) return fetch();
  const spec = shortSpec(server.config);
  const id = hash('sha256', `${spec}\n${key.shared}`, 'base64url');
  return sharedResults.get(
    { id, server: key.server, shelf: `${spec} ${key.shelf}` },
    ({ bytes, ttlMs }) => cache.put(key, bytes, ttlMs, 'public', mark),
    fetch,
    () => cache.publicEntry(key),
    signal,
  );
}
