// The program as it would be installed: a copy of the build, whose files a test can change while it runs.

import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
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

/** A gateway over HTTP that was started from such a copy, when it listens. */
export async function installedGateway(home: GatewayHome): Promise<InstalledGateway> {
  const main = await installed(home.file('program'));
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
