// The test files that are left out because a program which they start is not on this machine: all that import the
// file which starts it, directly or through others. scripts/test-programs installs what it can, and says what is missing.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(fileURLToPath(import.meta.url), '../../..');

/** For vitest's `exclude`. In continuous integration nothing is left out: there these tests fail. */
export function leftOutTests(env: NodeJS.ProcessEnv = process.env): string[] {
  const nats = env['HOLDFAST_TEST_NATS'] ?? '/usr/sbin/nats-server';
  if (env['CI'] !== undefined || existsSync(nats)) return [];
  return testsThatImport(join(root, 'test/support/nats-server.ts'));
}

/** Paths from the root of the project. */
export function testsThatImport(file: string): string[] {
  const imports = new Map(sourcesBelow(join(root, 'test')).map((one) => [one, importsOf(one)]));
  const found = new Set([file]);
  // A Set also visits what is added meanwhile.
  for (const target of found) {
    for (const [one, targets] of imports) if (targets.includes(target)) found.add(one);
  }
  return [...found].filter((one) => one.endsWith('.test.ts')).map((one) => relative(root, one));
}

function sourcesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)].map(([, path]) =>
    resolve(dirname(file), path ?? ''),
  );
}
