// What one `tools/call` over HTTP runs through: the source files and the functions of ours that are
// called between the request and its answer, in a gateway that has carried such calls before. Read
// with V8's own counters, so nothing is guessed.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { callFrame, callHeaders } from '../../bench/gateway/call-text.ts';
import { leanServer } from '../../bench/gateway/lean-server.ts';

export interface CallPath {
  /** Of the source, in the order of their names. */
  readonly files: readonly string[];
  /** Each as `file: function`. */
  readonly functions: readonly string[];
}

interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

/** So many are looked at. */
const calls = 5;
const root = fileURLToPath(new URL('../../', import.meta.url));
const preload = fileURLToPath(new URL('./trace-preload.mjs', import.meta.url));

export async function callPath(): Promise<CallPath> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-shape-'));
  const config = join(folder, 'holdfast.json');
  const trace = join(folder, 'trace.json');
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: { lean: leanServer }, http: { auth: 'none' } }),
  );
  const args = ['--import', 'tsx', '--import', preload, join(root, 'src/cli/main.ts'), 'serve'];
  const child = spawn(
    process.execPath,
    [...args, '--config', config, '--listen', '127.0.0.1:0', '--json'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, HOLDFAST_STATE: join(folder, 'state'), HOLDFAST_TRACE: trace },
    },
  );
  try {
    const [line] = await once(createInterface(child.stdout), 'line');
    const { url } = JSON.parse(String(line)) as { url: string };
    for (let call = 0; call < 20; call += 1) await post(url);
    const ran: (readonly string[])[] = [];
    for (let signal = 0; signal <= 2 * calls; signal += 1) {
      child.kill('SIGUSR2');
      const scripts = await jsonAt<readonly Script[]>(`${trace}.${signal}`);
      if (signal % 2 === 1) await post(url);
      else if (signal > 0) ran.push(functionsIn(scripts));
    }
    return pathOf(ran);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(folder, { recursive: true });
  }
}

async function post(url: string): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: callHeaders('lean__echo', { kind: 'modern' }),
    body: callFrame('lean__echo', { kind: 'modern' }).replace('@ID@', '1'),
  });
  const answer = await response.text();
  if (!answer.includes('"result"')) throw new Error(`the gateway answered ${answer}`);
}

async function jsonAt<T>(path: string): Promise<T> {
  while (!existsSync(path)) await pause(20);
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

function functionsIn(scripts: readonly Script[]): readonly string[] {
  return scripts.flatMap(({ url, functions }) => {
    if (!url.startsWith(`file://${root}src/`)) return [];
    const file = url.slice(`file://${root}`.length);
    const ran = functions.filter(({ ranges: [whole] }) => whole && whole.count > 0);
    return ran.map(
      ({ functionName, ranges: [whole] }) =>
        `${file}: ${functionName || `at ${whole?.startOffset}`}`,
    );
  });
}

/** What every call runs: timers that fall into the time of one do not count. */
function pathOf([first = [], ...others]: readonly (readonly string[])[]): CallPath {
  const functions = first.filter((one) => others.every((other) => other.includes(one)));
  const files = new Set(functions.map((one) => one.slice(0, one.indexOf(':'))));
  return { files: [...files].sort(), functions: functions.sort() };
}
