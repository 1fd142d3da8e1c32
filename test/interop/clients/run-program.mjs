// For clients that are programs: runs one on the Node that runs this one, and gives what it printed.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export function programOf(packageName, name) {
  const folder = fileURLToPath(new URL(`node_modules/${packageName}`, import.meta.url));
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return join(folder, bin[name]);
}

/** A config file for a program that takes one, in a folder of its own. */
export async function configFile(config) {
  const folder = await mkdtemp(join(tmpdir(), 'interop-client-'));
  const file = join(folder, 'config.json');
  await writeFile(file, JSON.stringify(config));
  return { file, folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

export function outputOf(program, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) {
      child[name].setEncoding('utf8').on('data', (text) => {
        output[name] += text;
      });
    }
    child.on('error', reject).on('close', (code) => resolve({ ...output, code }));
  });
}
