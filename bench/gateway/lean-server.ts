// The command of the one server that stands behind every subject.

import { fileURLToPath } from 'node:url';

export const leanServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../servers/lean.mjs', import.meta.url))],
};
