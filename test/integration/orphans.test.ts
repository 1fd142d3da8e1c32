// No survivor two seconds after the host was killed: real hosts, real trees, SIGKILL. As many
// rounds as HOLDFAST_TEST_TRIALS says (the full proof takes 20), as this user and, when this user is
// root, as an ordinary one. What is expected is exactly what the reported containment promises.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import type { Containment } from '../../src/supervise/child.ts';
import { isSame, type ProcessIdentity, processTable } from '../../src/supervise/process-table.ts';
import { sendSignal } from '../../src/supervise/sweep.ts';
import { type DoomedHost, type HostPlan, startHost } from '../support/doomed-host.ts';
import {
  cgroupsNamed,
  newSpawner,
  offeredContainments,
  recorded,
  until,
} from '../support/recorded-child.ts';

const trials = Number(process.env['HOLDFAST_TEST_TRIALS'] ?? 2);
const sleeper = new URL('../fixtures/processes/sleeper.sh', import.meta.url).pathname;
const table = processTable();
const promisedMs = 2000;

/** Every child ends in one sleeper that prints its pid; most do their best to keep it alive. */
const kinds = {
  plain: sleeper,
  wrapper: `sh ${sleeper}; :`,
  'grandchild of a wrapper': `sh -c 'sh ${sleeper}; :'; :`,
  'own session': `setsid sh ${sleeper} & wait`,
  'deaf to TERM': `trap '' TERM INT HUP; sh ${sleeper}; :`,
  'own session, cleared environment': `setsid env -i /bin/sh ${sleeper} & wait`,
  'daemon in its own session': `(setsid sh ${sleeper} &); exec sleep 1000`,
  // Its parent ends when it is told to, which is after it was noted.
  'cleared environment, orphaned after it was noted': `(setsid env -i /bin/sh ${sleeper} & read -r go <&3) 3<&0; exec sleep 1000`,
  'cleared environment, orphaned at once': `(setsid env -i /bin/sh ${sleeper} &); exec sleep 1000`,
} as const;
type Kind = keyof typeof kinds;

/** What each containment does not promise to catch. */
const exempt: Readonly<Record<Containment, readonly Kind[]>> = {
  pidns: [],
  cgroup: [],
  marker: ['cleared environment, orphaned at once'],
  group: ['cleared environment, orphaned at once', 'daemon in its own session'],
};

const isRoot = process.geteuid?.() === 0;
const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const users: readonly (readonly [string, readonly string[]])[] = isRoot
  ? [
      ['root', []],
      ['an ordinary user', nobody],
    ]
  : [['an ordinary user', []]];
if (!isRoot) console.log('not tested: hosts of root, since this is not root');

const slowestMs = new Map<string, number>();
afterAll(() => {
  for (const [title, ms] of slowestMs) console.log(`${title}: the last was gone after ${ms} ms`);
});

/** Starts a host with all kinds of children and waits until each has done what it does. */
async function populated(plan: Omit<HostPlan, 'children'>): Promise<DoomedHost> {
  const children = Object.fromEntries(
    Object.entries(kinds).map(([kind, script]) => [kind, ['/bin/sh', '-c', script]]),
  );
  const host = startHost({ ...plan, children });
  for (const kind of Object.keys(kinds)) {
    await host.said((line) => line.kind === 'printed' && line.name === kind, `${kind} has started`);
  }
  if (!['pidns', 'cgroup'].includes(containmentOf(host))) {
    // Noted once a second, on one of four ticks; the next tick is set when a visit is complete.
    const ticks = host.lines.filter((line) => line.kind === 'tick').length;
    await host.said((line) => line.kind === 'tick' && line.ticks >= ticks + 6, 'all is noted');
  }
  const orphan = sleeperOf(host, 'cleared environment, orphaned after it was noted');
  const parent = (await table.find(orphan))?.parent;
  host.process.stdin?.write('go\n');
  await until(async () => (await table.find(orphan))?.parent !== parent, 'it is orphaned');
  return host;
}

function containmentOf(host: DoomedHost): Containment {
  const line = host.lines.find((candidate) => candidate.kind === 'started');
  if (line?.kind !== 'started') throw new Error('the host has started nothing');
  return line.containment;
}

function sleeperOf(host: DoomedHost, kind: Kind): number {
  const line = host.lines.find((one) => one.kind === 'printed' && one.name === kind);
  return line?.kind === 'printed' ? Number.parseInt(line.text, 10) : 0;
}

async function identified(pids: readonly number[]): Promise<ProcessIdentity[]> {
  const rows = await Promise.all(pids.map((pid) => table.find(pid)));
  return rows.filter((row) => row !== null);
}

async function stillAlive(all: readonly ProcessIdentity[]): Promise<ProcessIdentity[]> {
  const rows = await Promise.all(all.map(({ pid }) => table.find(pid)));
  return all.filter((one, at) => {
    const row = rows[at] ?? null;
    return isSame(one, row) && row?.isZombie === false;
  });
}

/** Who of these is left two seconds after the host was killed, and when the last one had gone. */
async function killed(host: DoomedHost, all: readonly ProcessIdentity[], title: string) {
  const killedAt = systemClock.now();
  await host.kill();
  let left = await stillAlive(all);
  while (left.length > 0 && systemClock.now() < killedAt + promisedMs) {
    await new Promise((resolve) => systemClock.after(5, () => resolve(undefined)));
    left = await stillAlive(all);
  }
  const ms = Math.round(systemClock.now() - killedAt);
  slowestMs.set(title, Math.max(ms, slowestMs.get(title) ?? 0));
  return left;
}

const offered = await offeredContainments();

describe.each(users)('when a host of %s is killed', (user, prefix) => {
  it.each(offered)(
    'nothing survives that the containment %s promises to end',
    async (kind) => {
      for (let trial = 0; trial < trials; trial++) {
        const instance = `doomed-${process.pid}-${Math.trunc(systemClock.now())}`;
        const options = { instance, containments: [kind, 'marker' as const] };
        const withoutProc = kind === 'group' ? { procDir: '/nowhere' } : {};
        const host = await populated({ prefix, options: { ...options, ...withoutProc } });
        const holds = containmentOf(host);
        if (holds !== kind) console.log(`${user} is refused ${kind} here and gets ${holds}`);
        const exempted = exempt[holds].map((name) => sleeperOf(host, name));
        const below = await table.descendants(host.pid);
        const sleepers = Object.keys(kinds).map((name) => sleeperOf(host, name as Kind));
        const all = [...below, ...(await identified(sleepers))];
        const promised = all.filter(({ pid }) => !exempted.includes(pid));
        expect(promised.length).toBeGreaterThan(Object.keys(kinds).length);
        const left = await killed(host, promised, `${user}, ${holds}`);
        expect(left).toEqual([]);
        await until(() => cgroupsNamed(`holdfast-${instance}`).length === 0, 'no cgroup is left');
        for (const pid of exempted) sendSignal(pid, 'SIGKILL');
      }
    },
    600_000,
  );
});

describe('a host', () => {
  it('leaves its children to the next start when its reaper is killed with it', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holdfast-state-'));
    const script = `trap '' TERM; setsid sh ${sleeper} & sh ${sleeper}; :`;
    const host = startHost({
      options: {
        instance: `doomed-${process.pid}-both`,
        stateDir: dir,
        containments: ['marker'],
      },
      children: { one: ['/bin/sh', '-c', script] },
    });
    const printed = () =>
      host.lines.flatMap((line) => (line.kind === 'printed' ? line.text.trim().split('\n') : []));
    await until(() => printed().length === 2, 'both sleepers have started');
    const all = await identified(printed().map(Number));
    const below = await table.descendants(host.pid);
    // Stopped, it cannot start another reaper.
    host.process.kill('SIGSTOP');
    for (const { pid } of below.filter(isReaper)) sendSignal(pid, 'SIGKILL');
    await host.kill();
    expect(await stillAlive(all)).toHaveLength(2);
    const notices: string[] = [];
    await using spawner = newSpawner({ stateDir: dir, notice: (line) => notices.push(line) });
    await recorded(spawner, 'cat');
    expect(await stillAlive(all)).toEqual([]);
    expect(notices).toEqual(['ended 3 processes that a dead host had left running']);
    expect(await readdir(join(dir, 'instances'))).toHaveLength(1);
    await rm(dir, { recursive: true });
  });

  it('is left alone by the start of another while it lives', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holdfast-state-'));
    const options = { instance: `alive-${process.pid}`, stateDir: dir };
    const host = startHost({ options, children: { one: [sleeper] } });
    await host.said((line) => line.kind === 'printed', 'the sleeper has started');
    const below = await table.descendants(host.pid);
    await using spawner = newSpawner({ stateDir: dir });
    await recorded(spawner, 'cat');
    expect(await stillAlive(below)).toEqual(below);
    expect(await readdir(join(dir, 'instances'))).toHaveLength(2);
    await host.kill();
    await until(async () => (await stillAlive(below)).length === 0, 'its reaper has done its work');
    await rm(dir, { recursive: true });
  });

  it('frees the streams of its user when it is killed', async () => {
    const options = { instance: `piped-${process.pid}` };
    const host = startHost({ options, children: { one: [sleeper] } });
    await host.said((line) => line.kind === 'printed', 'the sleeper has started');
    const below = await table.descendants(host.pid);
    const reapers = below.filter(isReaper);
    // A stopped reaper cannot hurry: if it held the pipe, the pipe would stay open.
    for (const { pid } of reapers) process.kill(pid, 'SIGSTOP');
    const closed = once(host.process, 'close');
    await host.kill();
    await closed;
    for (const { pid } of reapers) process.kill(pid, 'SIGCONT');
    await until(async () => (await stillAlive(below)).length === 0, 'its reaper has done its work');
  });
});

function isReaper({ pid }: ProcessIdentity): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('\0holdfast-reaper\0');
}
