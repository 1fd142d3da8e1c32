// Every environment variable that the source reads stands in the table of docs/configuration.md, and every
// variable of the table is one that is read, here or by Node.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** `env['NAME']`, `env.NAME`, `{ NAME } = env`, and a name of ours wherever it is written. */
function variablesIn(text: string): readonly string[] {
  const code = text.replace(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  const direct = [...code.matchAll(/\benv(?:\?\.)?\[\s*['"]([A-Za-z_]\w*)['"]\s*\]/g)];
  const members = [...code.matchAll(/\benv\??\.([A-Z][A-Z0-9_]+)\b/g)];
  const own = [...code.matchAll(/\b(HOLDFAST_[A-Z_]+)\b/g)];
  const taken = [...code.matchAll(/\{([^{}]*)\}\s*=\s*(?:[\w.]+\.)?(?:env|childEnvironment)\b/g)];
  const names = taken.flatMap(([, inside = '']) => inside.match(/\b[A-Z][A-Z0-9_]+\b/g) ?? []);
  return [...[...direct, ...members, ...own].map(([, name = '']) => name), ...names];
}

function readBySource(): ReadonlySet<string> {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return new Set(
    sources.flatMap((name) => variablesIn(readFileSync(join(root, 'src', name), 'utf8'))),
  );
}

function documented(): ReadonlySet<string> {
  const page = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
  const section = page.slice(page.indexOf('\n## The environment\n'));
  return new Set([...section.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name = '']) => name));
}

/** From the pid-holder to its serving process; nobody else sets it. */
const internal: ReadonlySet<string> = new Set(['HOLDFAST_HOLDER']);
const readByNode: ReadonlySet<string> = new Set(['NODE_EXTRA_CA_CERTS']);

describe('the environment variables', () => {
  it('that the source reads are all documented #config', () => {
    const table = documented();
    const open = [...readBySource()].filter((name) => !internal.has(name));
    expect(open.filter((name) => !table.has(name))).toEqual([]);
  });

  it('that are documented are read', () => {
    const read = readBySource();
    const unread = [...documented()].filter((name) => !read.has(name) && !readByNode.has(name));
    expect(unread).toEqual([]);
  });

  it('are found in each way of reading one', () => {
    const text =
      "env['A_B'] env?.['C'] process.env.D_E const { F_F: f, G_G } = shell.env; // env['H']\n// env['I']\n" +
      "set('HOLDFAST_J')";
    expect(new Set(variablesIn(text))).toEqual(
      new Set(['A_B', 'C', 'D_E', 'F_F', 'G_G', 'H', 'HOLDFAST_J']),
    );
  });
});
