// The packages of the proof: real servers, real clients and the versions of Node that some of them
// need, each in a folder with a lock file of its own (decision 10), installed when they are missing.
// Install scripts run for Node alone, where they bring the binary; the others would download browsers.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = fileURLToPath(new URL('.', import.meta.url));

export const serversFolder = join(here, 'servers');
export const clientsFolder = join(here, 'clients');
const nodesFolder = join(here, 'nodes');

export const nodes = {
  22: join(nodesFolder, 'node_modules/node-22/bin/node'),
  24: join(nodesFolder, 'node_modules/node-24/bin/node'),
} as const;

export async function installServers(progress: (text: string) => void): Promise<void> {
  await install(serversFolder, ['--ignore-scripts'], progress);
  await installNodes(progress);
}

export async function installClients(progress: (text: string) => void): Promise<void> {
  await install(clientsFolder, ['--ignore-scripts'], progress);
  await installNodes(progress);
}

async function installNodes(progress: (text: string) => void): Promise<void> {
  await install(nodesFolder, [], progress);
}

async function install(
  folder: string,
  options: readonly string[],
  progress: (text: string) => void,
): Promise<void> {
  if (isInstalled(folder)) return;
  progress(`installing ${folder}`);
  const env = { ...process.env, PUPPETEER_SKIP_DOWNLOAD: '1' };
  await promisify(execFile)('npm', ['ci', ...options, '--prefix', folder], {
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** npm writes what it has installed, last, beside the packages. */
function isInstalled(folder: string): boolean {
  const written = join(folder, 'node_modules/.package-lock.json');
  if (!existsSync(written)) return false;
  const wanted = versionsIn(join(folder, 'package-lock.json'));
  const found = versionsIn(written);
  return [...found].every(([place, version]) => wanted.get(place) === version);
}

function versionsIn(lockFile: string): ReadonlyMap<string, string | undefined> {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8')) as {
    packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  return new Map(Object.entries(packages).map(([place, { version }]) => [place, version]));
}
