// Puts the command line into a few files. Node opens, resolves and compiles each module by itself, and
// zod alone has a hundred: from the separate files the gateway would take twice as long to listen and
// ten megabytes more. What is loaded only when needed stays apart. The licences of the packages that
// go in are written beside it. The library is not bundled: who imports it has a bundler of their own.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

const folder = 'dist/cli';
const licences = 'licences.txt';

const { metafile } = await build({
  // The second runs in a thread of its own, and is found beside the files of the first.
  entryPoints: ['src/cli/main.ts', 'src/store/sqlite/worker.ts'],
  entryNames: '[name]',
  outdir: folder,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  mainFields: ['module', 'main'],
  // CommonJS packages among them ask for Node's own modules by `require`.
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
  },
  metafile: true,
  sourcemap: 'linked',
});

writeLicences(Object.keys(metafile.inputs));
removeOthers([licences, ...Object.keys(metafile.outputs).map((file) => basename(file))]);

function writeLicences(inputs: readonly string[]): void {
  const packages = new Set(
    inputs.flatMap((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []),
  );
  const texts = [...packages].sort().map((name) => `${name}\n\n${licenceOf(name)}`);
  writeFileSync(join(folder, licences), texts.join(`\n${'-'.repeat(80)}\n`));
}

function licenceOf(name: string): string {
  const place = join('node_modules', name);
  const file = readdirSync(place).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} goes into the bundle and has no licence file`);
  return readFileSync(join(place, file), 'utf8');
}

/** What an earlier build has left. */
function removeOthers(files: readonly string[]): void {
  for (const file of readdirSync(folder)) {
    if (!files.includes(file)) rmSync(join(folder, file), { recursive: true });
  }
}
