// Programs that use the library, compiled as their authors would compile them, against the declarations
// that are shipped. A line that must not compile ends in the comment `// error at WORD`, which names the word
// that the compiler points at; every other line must compile. The examples of README.md and docs/ are programs, too. One run of the compiler checks all.

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const programs = fileURLToPath(new URL('programs', import.meta.url));

/** What the examples take as given. */
const given = `import type { Host } from 'holdfast';
declare global { function agentLoop(host?: Host): Promise<void>; }
`;

let folder: string;
let found: readonly string[];
let examples: readonly string[];

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-types-')));
  examples = await exampleFiles();
  await writeFile(join(folder, 'given.d.ts'), given);
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2022', 'esnext.disposable'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    paths: { holdfast: [join(root, 'dist/index.d.ts')] },
  };
  const config = { compilerOptions, include: [`${programs}/*.ts`, `${folder}/*.ts`] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  found = await errorsIn(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a program that uses the library', () => {
  it('does not compile with a misspelt key, a wrong type or a missing field #typed-config', async () => {
    const files = (await readdir(programs)).filter((file) => file.endsWith('.ts'));
    const expected = await Promise.all(files.map((file) => markedErrors(join(programs, file))));
    expect(expected.flat().length).toBeGreaterThan(40);
    const own = found.filter((error) => !examples.some((file) => error.startsWith(file)));
    expect(own.toSorted()).toEqual(expected.flat().sort());
  });

  it('compiles as README.md and docs/ show it', () => {
    expect(examples.length).toBeGreaterThan(0);
    const wrong = found.filter((error) => examples.some((file) => error.startsWith(file)));
    expect(wrong).toEqual([]);
  });
});

/** FILE:LINE WORD of everything that the compiler objects to. */
async function errorsIn(project: string): Promise<readonly string[]> {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const run = promisify(execFile)(tsc, ['-p', project, '--pretty', 'false'], { cwd: root });
  const output = await run.then(
    () => '',
    (error: { readonly stdout: string }) => error.stdout,
  );
  const errors = [...output.matchAll(/^(\S.*)\((\d+),(\d+)\): error TS/gm)];
  return await Promise.all(
    errors.map(async ([, name = '', line, column]) => {
      const file = join(root, name);
      const text = (await readFile(file, 'utf8')).split('\n')[Number(line) - 1] ?? '';
      return `${nameOf(file)}:${line} ${wordAt(text, Number(column) - 1)}`;
    }),
  );
}

function wordAt(text: string, index: number): string | undefined {
  return /^(?:[\w$]+|'[^']*'|\W)/.exec(text.slice(index))?.[0];
}

function nameOf(file: string): string {
  return file.startsWith(folder) ? relative(folder, file) : relative(programs, file);
}

async function markedErrors(file: string): Promise<readonly string[]> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  return lines.flatMap((line, index) => {
    const word = /\/\/ error at (.+)$/.exec(line)?.[1];
    return word === undefined ? [] : [`${nameOf(file)}:${index + 1} ${word}`];
  });
}

/** Writes each TypeScript example of the documents into a file of its own, with its line numbers. */
async function exampleFiles(): Promise<readonly string[]> {
  const docs = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'));
  const written: string[] = [];
  for (const page of ['README.md', 'ARCHITECTURE.md', ...docs.map((name) => `docs/${name}`)]) {
    const text = await readFile(join(root, page), 'utf8');
    for (const { index, 1: code } of text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)) {
      const line = text.slice(0, index).split('\n').length;
      const name = `${page.replace(/\W/g, '-')}-${line}.ts`;
      await writeFile(join(folder, name), `${'\n'.repeat(line)}${code}\nexport {};\n`);
      written.push(name);
    }
  }
  return written;
}
