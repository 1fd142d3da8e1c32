// What the entry of a server says about its results: whether the server is believed, and what is kept of each tool.
// A running host drops what it has cached when that changes; in a rollout it is compared, because the next process may
// have been started with another config.

import { hash } from 'node:crypto';
import type { ServerConfig } from '../../config/schema.ts';

export function resultsMark({ trusted, tools }: Pick<ServerConfig, 'trusted' | 'tools'>): string {
  const sorted = Object.entries(tools).sort(([one], [other]) => (one < other ? -1 : 1));
  return hash('sha256', JSON.stringify([trusted, sorted])).slice(0, 16);
}
