// Who may import whom (the table of ARCHITECTURE.md). The folders are the architecture, and this table is where they
// are made to be: it reads the import lines of every file in src and fails on the first that goes the
// wrong way. A file outside the folders (src/index.ts) is the public face and may name them all.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

const former = [
  'kernel',
  'wire',
  'config',
  'observe',
  'nats',
  'store',
  'supervise',
  'upstream',
  'policy',
  'cache',
  'catalog',
  'audit',
] as const;

/** What each folder may import besides itself. */
const table: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  wire: ['kernel'],
  config: ['kernel', 'nats', 'policy'],
  observe: ['kernel'],
  nats: ['kernel'],
  store: ['kernel', 'nats'],
  supervise: ['kernel', 'observe'],
  upstream: ['kernel', 'wire', 'observe', 'supervise'],
  policy: ['kernel', 'store'],
  cache: ['kernel', 'store'],
  catalog: ['kernel', 'wire', 'policy'],
  audit: ['kernel'],
  broker: ['kernel', 'nats', 'store'],
  host: former,
  'host-tools': ['kernel', 'wire', 'observe', 'catalog', 'host'],
  downstream: ['kernel', 'wire', 'policy', 'store', 'catalog', 'upstream', 'host', 'host-tools'],
  fleet: [...former, 'broker', 'host', 'downstream'],
  replicas: ['kernel', 'nats', 'store'],
  rollout: ['kernel', 'supervise'],
  instance: [...former, 'broker', 'fleet', 'host', 'downstream'],
  cli: [
    ...former,
    ...['broker', 'fleet', 'replicas', 'rollout', 'host', 'host-tools', 'downstream'],
    ...['instance', 'index.ts'],
  ],
};

/** Packages that one place alone may touch. */
const confined: readonly { readonly name: RegExp; readonly home: RegExp | null }[] = [
  { name: /^undici(\/|$)/, home: /^upstream\/http\/http-client\.ts$/ },
  { name: /^@modelcontextprotocol\//, home: null },
  { name: /^@nats-io\//, home: /^(nats|store\/nats|broker\/nats|replicas)\// },
  { name: /^(node:)?child_process$/, home: /^(supervise\/process|rollout\/holder)\// },
  { name: /^ws$/, home: /^broker\/socket\// },
  { name: /^(node:)?https?$/, home: /^(downstream\/http|broker\/socket)\// },
];

/** Files that others know only by a contract, and who may import them; tests may. */
const inner: readonly { readonly file: RegExp; readonly by: RegExp; readonly instead: string }[] = [
  {
    file: /^host\/host-core\.ts$/,
    by: /^host\/create-host\.ts$/,
    instead: 'host.ts, gateway-face.ts or command-face.ts',
  },
  { file: /^host\/pipeline-parts\.ts$/, by: /^host\//, instead: 'gateway-face.ts' },
  {
    file: /^host\/gateway-face\.ts$/,
    by: /^(host|host-tools|downstream|cli)\//,
    instead: 'host.ts',
  },
  { file: /^host\/command-face\.ts$/, by: /^(host|instance|cli)\//, instead: 'host.ts' },
];

interface Import {
  /** Inside src, with forward slashes. */
  readonly file: string;
  readonly target: string;
}

/** Static, dynamic and re-exporting imports; `typeof import()` too. Comments do not count. */
const importing = /(?:\bfrom|\bimport)\s*\(?\s*(['"])([^'"\n]+)\1/g;

function importsIn(file: string, text: string): readonly Import[] {
  const code = text.replace(/^\s*\/\/.*$/gm, '').replace(/^\s*\/\*[\s\S]*?\*\//gm, '');
  return [...code.matchAll(importing)].map((match) => ({ file, target: match[2] as string }));
}

function allImports(): readonly Import[] {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  return files.flatMap((file) => importsIn(file, readFileSync(join(src, file), 'utf8')));
}

/** The top folder of a path inside src; a file that stands there itself is its own. */
function folderOf(path: string): string {
  return path.split('/', 1)[0] as string;
}

/** Why an import is not allowed, if it is not. */
function violation({ file, target }: Import): string | undefined {
  const isRelative = target.startsWith('.');
  if (!isRelative) {
    const strange = confined.find(({ name }) => name.test(target));
    if (strange === undefined || strange.home?.test(file)) return undefined;
    return `${file} imports ${target}, which ${strange.home ? `only ${strange.home.source} may` : 'nothing in src may'}`;
  }
  const place = relative(src, join(src, dirname(file), target))
    .split(sep)
    .join('/');
  if (place.startsWith('..')) return `${file} imports ${target}, which is outside src`;
  const hidden = inner.find((one) => one.file.test(place));
  if (hidden !== undefined && !hidden.by.test(file))
    return `${file} imports ${target}: use ${hidden.instead}`;
  const [from, to] = [folderOf(file), folderOf(place)];
  if (from === to || !file.includes('/')) return undefined;
  const allowed = table[from];
  if (allowed === undefined) return `${from}/ is not in the table of folders`;
  return allowed.includes(to) ? undefined : `${file} imports ${target}: ${from} may not know ${to}`;
}

describe('the folders of src', () => {
  it('import each other only as the table says', () => {
    const imports = allImports();
    expect(imports.length).toBeGreaterThan(200);
    expect(imports.map(violation).filter((reason) => reason !== undefined)).toEqual([]);
  });
});

describe('the audit log', () => {
  it('waits for no disk in the thread that serves the clients', () => {
    const files = readdirSync(join(src, 'audit')).filter((file) => !file.endsWith('.test.ts'));
    const waiting = files.filter((file) =>
      /\b[a-z]+Sync\b/.test(readFileSync(join(src, 'audit', file), 'utf8')),
    );
    expect(files).toContain('audit-disk.ts');
    expect(waiting).toEqual([]);
  });
});

describe('the reading of import lines', () => {
  it.each([
    "import { a } from './a.ts';",
    "import type { A } from './a.ts';",
    "import {\n  a,\n  type B,\n} from './a.ts';",
    "import './a.ts';",
    "export { a } from './a.ts';",
    'const { a } = await import("./a.ts");',
    "type A = import('./a.ts').A;",
  ])('finds the target of %j', (line) => {
    expect(importsIn('x.ts', line).map(({ target }) => target)).toEqual(['./a.ts']);
  });

  it.each(["// import './a.ts';", " * from './a.ts'\n*/".replace(/^/, '/*'), 'const from = 1;'])(
    'finds none in %j',
    (line) => {
      expect(importsIn('x.ts', line)).toEqual([]);
    },
  );

  it.each([
    ['kernel/fault.ts', '../wire/scan.ts'],
    ['cache/key.ts', '../wire/canonical.ts'],
    ['supervise/life.ts', '../upstream/http.ts'],
    ['upstream/http/http-connection.ts', '../../host/host.ts'],
    ['host/call/call.ts', '../../cli/main.ts'],
    ['host/call/call.ts', '../../index.ts'],
    ['host/call/call.ts', '../../../test/support/manual-clock.ts'],
    ['novelty/a.ts', '../kernel/fault.ts'],
    ['upstream/http/sse-2024-connection.ts', 'undici'],
    ['upstream/http/http-connection.ts', '@modelcontextprotocol/client'],
    ['cli/main.ts', 'node:child_process'],
    ['cli/main.ts', 'child_process'],
    ['supervise/life.ts', 'node:child_process'],
    ['downstream/gateway.ts', '../host/host-core.ts'],
    ['cli/standalone.ts', '../host/host-core.ts'],
    ['host/calling.ts', './host-core.ts'],
    ['index.ts', './host/host-core.ts'],
    ['downstream/gateway.ts', '../host/pipeline-parts.ts'],
    ['downstream/gateway.ts', '../host/command-face.ts'],
    ['index.ts', './host/gateway-face.ts'],
  ])('finds the violation: %s imports %s', (file, target) => {
    expect(violation({ file, target })).toBeDefined();
  });

  it.each([
    ['wire/scan.ts', './span.ts'],
    ['cli/commands/call.ts', '../../host/host.ts'],
    ['cli/main.ts', '../index.ts'],
    ['index.ts', './host/host.ts'],
    ['upstream/http/http-client.ts', 'undici'],
    ['supervise/process/start/launch.ts', 'node:child_process'],
    ['host/calling.ts', 'node:crypto'],
    ['host/create-host.ts', './host-core.ts'],
    ['host/servers/server-control.ts', '../pipeline-parts.ts'],
    ['downstream/gateway.ts', '../host/gateway-face.ts'],
    ['cli/standalone.ts', '../host/command-face.ts'],
  ])('finds none where there is none: %s imports %s', (file, target) => {
    expect(violation({ file, target })).toBeUndefined();
  });
});
