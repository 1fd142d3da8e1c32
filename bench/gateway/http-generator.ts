// Where the load on HTTP comes from: wrk, which costs a fraction of any subject. It is installed
// from Debian's packages if we may; otherwise a generator of our own does it, and says so.

import { execFile, execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Report } from './load.ts';

export interface HttpOrder {
  readonly url: string;
  /** Holds the whole request, with `@ID@` where the call's number goes. */
  readonly file: string;
  readonly inFlight: number;
  readonly seconds: number;
}

export interface HttpGenerator {
  readonly name: string;
  run(order: HttpOrder): Promise<Report>;
}

export function httpGenerator(): HttpGenerator {
  if (has('wrk') || installed()) return wrk;
  console.log('wrk is missing and cannot be installed here: the load comes from sockets.mjs.');
  return sockets;
}

const script = pathOf('./generators/wrk.lua');
const wrk: HttpGenerator = {
  name: 'wrk',
  run: ({ url, file, inFlight, seconds }) =>
    reportOf('wrk', [
      ...['-t1', `-c${inFlight}`, `-d${Math.ceil(seconds)}s`, '--timeout', '30s', '-s', script],
      ...[url, '--', file],
    ]),
};

const sockets: HttpGenerator = {
  name: 'sockets.mjs',
  run: ({ url, file, inFlight, seconds }) => {
    const { hostname, port } = new URL(url);
    const order = [hostname, port, file, String(inFlight), String(seconds)];
    return reportOf(process.execPath, [pathOf('./generators/sockets.mjs'), ...order]);
  },
};

async function reportOf(command: string, args: readonly string[]): Promise<Report> {
  const { stdout } = await promisify(execFile)(command, args);
  const report = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  if (report.failures > 0) throw new Error(`${report.failures} requests failed: ${stdout}`);
  return report;
}

function installed(): boolean {
  if (process.getuid?.() !== 0 || !has('apt-get')) return false;
  try {
    execFileSync('apt-get', ['install', '-y', '-q', 'wrk'], { stdio: 'ignore' });
  } catch {
    // No network or no such package: the caller says that wrk is missing.
    return false;
  }
  return has('wrk');
}

function has(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
