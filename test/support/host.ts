// A host for a test: real processes, nothing on disk, and the questions tests ask of it.

import { readdirSync, readFileSync } from 'node:fs';
import type { ServerInput } from '../../src/config/config-input.ts';
import { configFromObject } from '../../src/config/load.ts';
import type { CallResult } from '../../src/host/call-result.ts';
import {
  createHost,
  type HostOptions,
  hostFrom,
  type OpenedHost,
} from '../../src/host/create-host.ts';
import type { Host } from '../../src/host/host.ts';
import type { ServerStatus } from '../../src/host/status.ts';
import { Fault } from '../../src/kernel/fault.ts';
import { processEnvironment } from '../../src/supervise/process/start/environment.ts';

export function hostWith(
  mcpServers: Readonly<Record<string, ServerInput>>,
  rest: HostOptions = {},
): Promise<Host> {
  return createHost({ ...rest, mcpServers });
}

/** A host that a gateway can stand on. */
export function gatewayHostWith(mcpServers: Readonly<Record<string, ServerInput>>): OpenedHost {
  const folder = process.cwd();
  const env = processEnvironment();
  const loaded = configFromObject({ mcpServers }, { baseDir: folder, env });
  const report = (line: string) => void process.stderr.write(`${line}\n`);
  return hostFrom(loaded, { env, folder, stateDir: null, startedBy: 'test', report });
}

export function statusOf(host: Host, name: string): ServerStatus {
  const row = host.status().servers.find((server) => server.name === name);
  if (!row) throw new Error(`no status for ${name}`);
  return row;
}

/** The first text block of a result. */
export function textOf(result: CallResult): string {
  const [block] = result.content ?? [];
  return block?.type === 'text' ? block.text : '';
}

/** The fault a call ends in; a call that succeeds fails the test. */
export async function faultOf(call: Promise<unknown>): Promise<Fault> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('the call succeeded, but a fault was expected');
}

/** The processes whose command line holds the text, by the pid under which we see them. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandLine(pid).includes(text))
    .map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return ''; // it has ended meanwhile
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
