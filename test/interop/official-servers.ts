// The reference servers of the MCP project that the product's own devDependencies hold: nothing has
// to be installed for them.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Launch } from './peers/stdio-peer.ts';

const { resolve } = createRequire(import.meta.url);

/** `folder` is where it runs, its home, and what the one for files may touch. */
export function officialServer(
  name: 'everything' | 'filesystem' | 'memory',
  folder: string,
): Launch {
  const root = dirname(resolve(`@modelcontextprotocol/server-${name}/package.json`));
  const args = { everything: ['stdio'], filesystem: [folder], memory: [] };
  return {
    command: process.execPath,
    args: [join(root, 'dist/index.js'), ...args[name]],
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      MEMORY_FILE_PATH: join(folder, 'memory'),
    },
    cwd: folder,
  };
}
