// A fleet on one machine: a broker, an orchestrator with two servers, and two workers with different roles. Shows what
// each worker sees, and what happens when one of them calls what it may not. Everything is in a temporary folder, with
// a copy of the config beside this file, and ends with this program, also on Ctrl-C:
//
//   npm run build && node examples/fleet/run.mjs

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { connectWorker } from '../../dist/index.js';

const holdfast = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'holdfast-fleet-'));
const config = join(folder, 'holdfast.json');
const dir = join(folder, 'broker');
const env = { ...process.env, HOLDFAST_STATE: join(folder, 'state') };
const running = [];

/** The config with the programs of its servers by their whole paths: it lies elsewhere. */
function copyConfig() {
  const text = readFileSync(join(here, 'holdfast.json'), 'utf8');
  const copied = JSON.parse(text);
  for (const server of Object.values(copied.mcpServers)) {
    server.args = server.args.map((argument) => resolve(here, argument));
  }
  writeFileSync(config, JSON.stringify(copied, null, 2), { mode: 0o600 });
}

async function end() {
  await Promise.all(
    running.map((child) => {
      if (child.exitCode !== null || child.signalCode !== null) return undefined;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      return ended;
    }),
  );
  rmSync(folder, { recursive: true, force: true });
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
]) {
  process.once(signal, async () => {
    await end();
    process.exit(code);
  });
}

// Whoever reads what is printed has gone (`| head -1`): so has the reason to go on.
process.stdout.once('error', async () => {
  process.stdout.on('error', () => {});
  await end();
  process.exit(1);
});

/** The secret of a new credential. */
function credential(...words) {
  const args = [holdfast, 'token', 'add', ...words, '--dir', dir, '--config', config, '--json'];
  return JSON.parse(execFileSync(process.execPath, args, { env })).token;
}

/** Starts a command that serves, and resolves to the line that it prints then. */
async function started(words, more = {}) {
  const child = spawn(process.execPath, [holdfast, ...words, '--json'], {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.push(child);
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line);
  throw new Error(`holdfast ${words[0]} has ended`);
}

async function show(name, secret, broker) {
  const worker = await connectWorker({ broker, to: 'boss', credential: secret });
  const tools = await worker.tools('boss');
  console.log(`${name} may use ${tools.map((tool) => tool.name).join(', ')}`);
  for (const [tool, args] of [
    ['weather__forecast', { city: 'Lisbon' }],
    ['bank__deposit', { account: name, amount: 10 }],
  ]) {
    try {
      const { content } = await worker.call('boss', tool, args);
      console.log(`  ${tool}: ${content[0].text}`);
    } catch (fault) {
      console.log(`  ${tool}: ${fault.code}: ${fault.message}`);
    }
  }
  await worker.close();
}

try {
  copyConfig();
  const boss = credential('--orchestrator', 'boss');
  const ann = credential('--worker', 'ann', '--role', 'researcher', '--to', 'boss');
  const bob = credential('--worker', 'bob', '--role', 'accountant', '--to', 'boss');
  const { url } = await started(['broker', '--listen', '127.0.0.1:0', '--dir', dir]);
  const tokenFile = join(folder, 'boss');
  writeFileSync(tokenFile, boss, { mode: 0o600 });
  const serve = ['serve', '--config', config, '--broker', url, '--as', 'boss'];
  await started(serve, { HOLDFAST_TOKEN_FILE: tokenFile });
  await show('ann', ann, url);
  await show('bob', bob, url);
} finally {
  await end();
}
