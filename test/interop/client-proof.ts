// Real clients in front of the gateway, with two official servers behind it. Each runs in a process
// of its own, over every transport it has, and says what it saw at each step (clients/drive.mjs).
// Over HTTP all of them share one gateway, with a token; on stdio each starts its own.

import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { nodeOf, type RealClient, type Transport } from './client-table.ts';
import { clientsFolder } from './installation.ts';
import { officialServer } from './official-servers.ts';

export const steps = ['connect', 'list', 'call', 'isError', 'unknown', 'again'] as const;
export type StepName = (typeof steps)[number];

export interface StepSeen {
  readonly step: StepName;
  readonly isOk: boolean;
  readonly saw: string;
}

export interface ClientResult {
  readonly client: RealClient;
  readonly transport: Transport;
  readonly seen: readonly StepSeen[];
  /** Undefined if it did all of it and ended. */
  readonly failure: string | undefined;
}

export async function runClients(
  clients: readonly RealClient[],
  clientMs: number,
  progress: (text: string) => void,
): Promise<readonly ClientResult[]> {
  await using home = await GatewayHome.create();
  await mkdir(home.file('files'));
  await home.configure({
    mcpServers: {
      everything: officialServer('everything', home.file('files')),
      files: officialServer('filesystem', home.file('files')),
    },
    http: { auth: 'token' },
  });
  await using gateway = await home.serve();
  const results: ClientResult[] = [];
  for (const client of clients) {
    for (const transport of client.transports) {
      const result = await runOne(client, transport, home, gateway, clientMs);
      progress(`${client.name}, ${transport}: ${result.failure ?? 'ok'}`);
      results.push(result);
    }
  }
  return results;
}

async function runOne(
  client: RealClient,
  transport: Transport,
  home: GatewayHome,
  { url, token }: Served,
  clientMs: number,
): Promise<ClientResult> {
  const interop = {
    transport,
    url,
    sseUrl: new URL('/sse', url).href,
    headers: { Authorization: `Bearer ${token}` },
    stdio: home.stdioCommand,
    ...client.options,
  };
  const { seen, ending } = await stepsOf(client, JSON.stringify(interop), clientMs);
  const wrong = seen.find(({ isOk }) => !isOk);
  const absent = steps.find((step) => !seen.some((one) => one.step === step));
  const failure =
    wrong !== undefined
      ? `${wrong.step}: ${wrong.saw}`
      : absent !== undefined
        ? `${absent} was not reached: ${ending.words}`
        : ending.isClean
          ? undefined
          : `ended badly: ${ending.words}`;
  return { client, transport, seen, failure };
}

interface Run {
  readonly seen: readonly StepSeen[];
  readonly ending: { readonly isClean: boolean; readonly words: string };
}

function stepsOf(client: RealClient, interop: string, clientMs: number): Promise<Run> {
  const script = join(clientsFolder, `${client.script}.mjs`);
  return new Promise((done, failed) => {
    const child = spawn(nodeOf(client), [script], {
      env: { ...process.env, INTEROP: interop },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a group of its own: what it starts ends with it
    });
    const seen: StepSeen[] = [];
    let errors = '';
    createInterface(child.stdout).on('line', (line) => {
      if (line.startsWith('{"step":')) seen.push(JSON.parse(line) as StepSeen);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = `${errors}${text}`.slice(-600);
    });
    const end = () => child.pid !== undefined && killGroup(child.pid);
    const late = setTimeout(end, clientMs);
    child.on('error', failed);
    child.on('close', (code, signal) => {
      clearTimeout(late);
      end();
      done({ seen, ending: { isClean: code === 0, words: `${code ?? signal} ${errors.trim()}` } });
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody of the group is left.
  }
}
