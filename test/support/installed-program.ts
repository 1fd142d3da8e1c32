// The program as it would be installed: a copy of the build, whose files a test can change while it runs.

import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { buildFolder } from './build.ts';
import { type GatewayHome, Started } from './gateway-home.ts';

/** In this folder; the path of the program. */
export async function installed(folder: string): Promise<string> {
  const main = join(folder, 'dist', 'cli', 'main.js');
  await mkdir(folder, { recursive: true });
  await cp(join(buildFolder, 'cli'), dirname(main), { recursive: true });
  const repository = resolve(import.meta.dirname, '../..');
  await cp(join(repository, 'package.json'), join(folder, 'package.json'));
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  return main;
}

export interface InstalledGateway extends AsyncDisposable {
  readonly main: string;
  readonly url: string;
  readonly pid: number;
  readonly started: Started;
}

/** What is written in exactly one place of the program, and what is there instead. */
export type Edit = readonly [is: string, becomes: string];

/** A gateway over HTTP that was started from such a copy, when it listens. `edits`: what is otherwise in all of its versions. */
export async function installedGateway(
  home: GatewayHome,
  edits: readonly Edit[] = [],
): Promise<InstalledGateway> {
  const main = await installed(home.file('program'));
  for (const edit of edits) await edited(dirname(main), edit);
  const words = [main, 'serve', '--config', home.configFile, '--listen', '127.0.0.1:0', '--json'];
  const child: ChildProcess = spawn(process.execPath, words, { cwd: home.folder, env: home.env });
  child.stdin?.end();
  const started = new Started(child);
  await started.printed('\n');
  const line = started.stdout.slice(0, started.stdout.indexOf('\n'));
  const { url, pid } = JSON.parse(line) as { url: string; pid: number };
  return {
    main,
    url,
    pid,
    started,
    [Symbol.asyncDispose]: async () => void (await started.stop()),
  };
}

async function edited(folder: string, [is, becomes]: Edit): Promise<void> {
  let times = 0;
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.js')) continue;
    const file = join(folder, name);
    const parts = (await readFile(file, 'utf8')).split(is);
    times += parts.length - 1;
    if (parts.length > 1) await writeFile(file, parts.join(becomes));
  }
  if (times !== 1) throw new Error(`not once in the build: ${is}`);
}

/** Puts a program text before the rest of what is installed, as another version has it. */
export async function installedBefore(main: string, before: string): Promise<void> {
  const text = await readFile(main, 'utf8');
  const at = text.indexOf('\n', text.startsWith('#!') ? text.indexOf('\n') + 1 : 0) + 1;
  await writeFile(`${main}.new`, text.slice(0, at) + before + text.slice(at));
  await rename(`${main}.new`, main);
}
