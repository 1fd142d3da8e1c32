// Unit tests, and those of a database on disk, of a real NATS server and of handles in a pid-holder, on a copy of the source with a bug in it: every file below src/ is read from the folder
// that HOLDFAST_SOURCE names. The tests themselves, and where they look for things, are those of here.

import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('../..', import.meta.url));
const source = join(root, 'src') + sep;
const planted = process.env['HOLDFAST_SOURCE'] ?? root;

export default defineConfig({
  root,
  plugins: [
    {
      name: 'planted-source',
      enforce: 'pre',
      load(id) {
        if (!id.startsWith(source) || id.endsWith('.test.ts')) return null;
        return readFileSync(join(planted, relative(root, id)), 'utf8');
      },
    },
  ],
  test: {
    include: [
      'src/**/*.test.ts',
      'test/integration/sqlite-{acknowledged,own-files}.test.ts',
      'test/integration/nats-kept-time.test.ts',
      'test/integration/holder-handles.test.ts',
    ],
    pool: 'threads',
  },
});
