// Many windows that come at once, and the instance that they share killed under them: what each of them is
// answered before and after, by which processes, and what is left when they have gone.

import { allProcesses, argumentsOf } from '../chaos/process-list.ts';
import { instanceEnded, instancePid, openWindow, statusOf, type Window } from './connect-window.ts';
import { faultyStdio } from './faulty.ts';
import type { GatewayHome } from './gateway-home.ts';
import { servingPids } from './serving-process.ts';
import { until } from './until.ts';

export interface KilledUnderWindows {
  /** Who answered: a server is named once for each of its processes. Anything else is a fault in words. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The processes of each server, after the kill. */
  readonly children: readonly number[];
  readonly startedBy: string;
  /** Processes of servers when all windows have gone and the instance has ended. */
  readonly left: readonly number[];
  /** From the end of the instance to the last answer of the next calls. */
  readonly slowestMs: number;
}

const servers = ['one', 'other'];

export async function killUnderWindows(
  home: GatewayHome,
  count: number,
): Promise<KilledUnderWindows> {
  const ledgers = servers.map((server) => home.file(`${server}-ledger`));
  const entries = servers.map((server, at) => [server, faultyStdio({ ledger: ledgers[at] ?? '' })]);
  await home.configure({ mcpServers: Object.fromEntries(entries) });
  const windows = await Promise.all(Array.from({ length: count }, () => openWindow(home)));
  try {
    const first = await answersTo(windows);
    const pid = instancePid(home);
    const all = [pid, ...(await servingPids(pid))];
    process.kill(pid, 'SIGKILL');
    await until(() => !all.some(isThere), 'the instance is gone');
    const killedAt = performance.now();
    const next = await answersTo(windows);
    const slowestMs = performance.now() - killedAt;
    const children = ledgers.map((ledger) => serversOf(ledger).length);
    const { startedBy } = await statusOf(home);
    const isOld = (answer: string) => first.has(answer);
    const after = [...next].map((answer) => (isOld(answer) ? `again ${answer}` : nameIn(answer)));
    await Promise.all(windows.map((window) => window[Symbol.asyncDispose]()));
    await instanceEnded(home);
    const left = ledgers.flatMap(serversOf);
    const before = [...first].map(nameIn).sort();
    return { before, after: after.sort(), children, startedBy, left, slowestMs };
  } finally {
    await Promise.all(windows.map((window) => window[Symbol.asyncDispose]()));
  }
}

/** Each window calls each server: the different answers, a process each. */
async function answersTo(windows: readonly Window[]): Promise<ReadonlySet<string>> {
  const calls = windows.flatMap((window) =>
    servers.map(async (server) => {
      const { structuredContent, content } = await window.call(`${server}__whoami`);
      const { generation } = structuredContent ?? {};
      return generation === undefined ? JSON.stringify(content) : `${server} ${generation}`;
    }),
  );
  return new Set(await Promise.all(calls));
}

function nameIn(answer: string): string {
  const [name = ''] = answer.split(' ');
  return servers.includes(name) ? name : answer;
}

/** The processes of the server that writes this ledger; those that hold it in a namespace are no node. */
function serversOf(ledger: string): readonly number[] {
  const isServer = (pid: number) => {
    const [program, ...args] = argumentsOf(pid);
    return program === process.execPath && args.includes(ledger);
  };
  return allProcesses().flatMap(({ pid, isZombie }) => (!isZombie && isServer(pid) ? [pid] : []));
}

/** Its sockets are closed when the last of its threads has ended: when its parent can collect it. */
function isThere(pid: number): boolean {
  return allProcesses().some((one) => one.pid === pid);
}
