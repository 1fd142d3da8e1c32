// No survivor two seconds after the host was killed: real hosts, real trees, SIGKILL. As many
// rounds as HOLDFAST_TEST_TRIALS says (the full proof takes 20), as this user and, when this user is
// root, as an ordinary one. What is expected is exactly what the reported containment promises.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Containment } from '../../src/supervise/child.ts';
import { sendSignal } from '../../src/supervise/process/end/sweep.ts';
import type { ProcessIdentity } from '../../src/supervise/process/watch/process-table.ts';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import { type DoomedHost, type HostPlan, hostCommand, startHost } from '../support/doomed-host.ts';
import {
  cgroupsNamed,
  newSpawner,
  offeredContainments,
  recorded,
} from '../support/recorded-child.ts';
import { identified, newTag, sleeper, sleepersWith, stillAlive } from '../support/sleepers.ts';
import { until } from '../support/until.ts';

const trials = Number(process.env['HOLDFAST_TEST_TRIALS'] ?? 2);
const promisedMs = 2000;
const table = systemProcesses();
const offered = await offeredContainments();

/** Scripts that end in one sleeper each; most do their best to keep it alive. */
const kinds = {
  plain: (one: string) => `exec ${one}`,
  wrapper: (one: string) => `${one}; :`,
  'grandchild of a wrapper': (one: string) => `sh -c '${one}; :'; :`,
  'own session': (one: string) => `setsid ${one} & wait`,
  'deaf to TERM': (one: string) => `trap '' TERM INT HUP; ${one}; :`,
  'own session, cleared environment': (one: string) => `setsid env -i /bin/${one} & wait`,
  'daemon in its own session': (one: string) => `(setsid ${one} &); exec cat`,
  // Its parent ends at the first line on stdin, which comes after it was noted.
  'cleared daemon, noted': (one: string) =>
    `(setsid env -i /bin/${one} & read -r go <&3) 3<&0; exec sleep 1000`,
  'cleared daemon, not noted': (one: string) => `(setsid env -i /bin/${one} &); exec cat`,
} as const;
type Kind = keyof typeof kinds;
const allKinds = Object.keys(kinds) as Kind[];

/** What each containment does not promise to catch. */
const exempt: Readonly<Record<Containment, readonly Kind[]>> = {
  pidns: [],
  cgroup: [],
  marker: ['cleared daemon, not noted'],
  group: ['cleared daemon, not noted', 'daemon in its own session'],
};

const isRoot = process.geteuid?.() === 0;
const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
const users: readonly (readonly [string, readonly string[]])[] = isRoot
  ? [
      ['root', []],
      ['an ordinary user', asNobody],
    ]
  : [['an ordinary user', []]];
if (!isRoot) console.log('not tested: a host of root, since this is not root');

interface Populated {
  readonly host: DoomedHost;
  readonly sleepers: ReadonlyMap<Kind, ProcessIdentity>;
}

/** Starts a host with all kinds of children and waits until each has done what it does. */
async function populated(plan: Omit<HostPlan, 'children'>): Promise<Populated> {
  const tags = new Map(allKinds.map((kind) => [kind, newTag()]));
  const children = Object.fromEntries(
    allKinds.map((kind) => [kind, ['sh', '-c', kinds[kind](`sh ${sleeper} ${tags.get(kind)}`)]]),
  );
  const host = startHost({ ...plan, children });
  await host.said((line) => line.kind === 'ready', 'it has started its children');
  const sleepers = new Map<Kind, ProcessIdentity>();
  for (const [kind, tag] of tags) {
    for (const one of await sleepersWith(tag)) sleepers.set(kind, one);
  }
  if (!['pidns', 'cgroup'].includes(containmentOf(host))) {
    // Noted on one of four ticks; the next tick is set when a visit is complete.
    const ticks = host.lines.filter((line) => line.kind === 'tick').length;
    await host.said((line) => line.kind === 'tick' && line.ticks >= ticks + 6, 'all is noted');
  }
  const parentOf = async (kind: Kind) => (await table.find(sleepers.get(kind)?.pid ?? 0))?.parent;
  const parent = await parentOf('cleared daemon, noted');
  host.process.stdin?.write('go\n');
  await until(async () => (await parentOf('cleared daemon, noted')) !== parent, 'it is orphaned');
  return { host, sleepers };
}

function containmentOf(host: DoomedHost): Containment {
  const line = host.lines.find((candidate) => candidate.kind === 'started');
  if (line?.kind !== 'started') throw new Error('the host has started nothing');
  return line.containment;
}

/** Who of these is left two seconds after the host was killed. */
async function leftAfterKill(
  host: DoomedHost,
  all: readonly ProcessIdentity[],
): Promise<readonly ProcessIdentity[]> {
  await host.kill();
  let left: readonly ProcessIdentity[] = all;
  const isOver = async () => {
    left = await stillAlive(left);
    return left.length === 0;
  };
  await until(isOver, 'nothing is left', promisedMs).catch(() => {}); // who is left is given back
  return left;
}

async function trial(user: string, prefix: readonly string[], kind: Containment): Promise<void> {
  const instance = `doomed-${newTag()}`;
  const place = kind === 'group' ? { procDir: '/nowhere' } : {};
  const containments = [kind, 'marker' as const];
  const { host, sleepers } = await populated({
    prefix,
    options: { instance, containments, ...place },
  });
  const holds = containmentOf(host);
  if (holds !== kind) console.log(`${user} is refused ${kind} here and gets ${holds}`);
  const exempted = exempt[holds].map((name) => sleepers.get(name)?.pid ?? 0);
  const all = [...(await table.descendants(host.pid)), ...sleepers.values()];
  const promised = all.filter(({ pid }) => !exempted.includes(pid));
  expect(await stillAlive([...sleepers.values()])).toHaveLength(allKinds.length);
  expect(await leftAfterKill(host, promised)).toEqual([]);
  await until(() => cgroupsNamed(`holdfast-${instance}`).length === 0, 'no cgroup is left');
  for (const pid of exempted) sendSignal(pid, 'SIGKILL');
}

describe.each(users)('when a host of %s is killed #no-orphans', (user, prefix) => {
  it.each(offered)(
    'nothing survives that the containment %s promises to end',
    async (kind) => {
      for (let round = 0; round < trials; round++) await trial(user, prefix, kind);
    },
    trials * 30_000,
  );
});

/** A host with one child that has one sleeper in its group and one in its own session. */
async function smallHost(options: HostPlan['options']): Promise<{
  readonly host: DoomedHost;
  readonly sleepers: readonly ProcessIdentity[];
  readonly below: readonly ProcessIdentity[];
  readonly reaper: number;
}> {
  const tag = newTag();
  const one = `sh ${sleeper} ${tag}`;
  const children = { one: ['sh', '-c', `trap '' TERM; setsid ${one} & ${one}; :`] };
  const host = startHost({ options: { instance: `small-${tag}`, ...options }, children });
  const sleepers = await sleepersWith(tag, 2);
  const below = await table.descendants(host.pid);
  return { host, sleepers, below, reaper: below.find(isReaper)?.pid ?? 0 };
}

function isReaper({ pid }: ProcessIdentity): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('\0holdfast-reaper\0');
}

/** Stops it until the end of the test, whatever that is. */
function suspend(reaper: number): void {
  process.kill(reaper, 'SIGSTOP');
  onTestFinished(() => resumed(reaper));
}

/** Lets it do its work. */
async function resumed(reaper: number): Promise<void> {
  const all = await stillAlive(await identified([reaper]));
  for (const { pid } of all) process.kill(pid, 'SIGCONT');
  await until(async () => (await stillAlive(all)).length === 0, 'the reaper has done its work');
}

async function newStateDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-state-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  return dir;
}

/** Without those that a host was just writing. */
async function recordsIn(stateDir: string): Promise<string[]> {
  return (await readdir(join(stateDir, 'instances'))).filter((name) => name.endsWith('.json'));
}

describe('a host that dies', () => {
  it('is followed by its reaper, which SIGTERM does not end', async () => {
    const { host, below, reaper } = await smallHost({ containments: ['marker'] });
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(reaper, name);
    expect(await leftAfterKill(host, below)).toEqual([]);
  });

  it('frees the streams of its user at once', async () => {
    const { host, below, reaper } = await smallHost({ containments: ['marker'] });
    // While the reaper is stopped, and the children with it, only the host can close the pipes.
    suspend(reaper);
    const closed = once(host.process, 'close');
    await host.kill();
    await closed;
    expect(await stillAlive(below)).toHaveLength(below.length);
    await resumed(reaper);
    expect(await stillAlive(below)).toEqual([]);
  });

  it('takes along the reaper and the children of a host below it', async () => {
    const tag = newTag();
    const inner = { options: { instance: `inner-${tag}` }, children: { leaf: [sleeper, tag] } };
    const host = startHost({
      options: { instance: `outer-${tag}`, containments: ['marker'] },
      children: { inner: ['sh', '-c', `cd "$1"; shift; exec "$@"`, 'sh', ...hostCommand(inner)] },
    });
    await sleepersWith(tag);
    const below = await table.descendants(host.pid);
    expect(below.filter(isReaper)).toHaveLength(2);
    expect(await leftAfterKill(host, below)).toEqual([]);
  });

  it('leaves its children to the next start when its reaper dies with it #no-orphans', async () => {
    const stateDir = await newStateDir();
    const { host, sleepers, reaper } = await smallHost({ stateDir, containments: ['marker'] });
    // Stopped, it cannot start another reaper.
    host.process.kill('SIGSTOP');
    process.kill(reaper, 'SIGKILL');
    await host.kill();
    expect(await stillAlive(sleepers)).toHaveLength(2);
    const notices: string[] = [];
    await using spawner = newSpawner({ stateDir, notice: (line) => notices.push(line) });
    await recorded(spawner, 'cat');
    expect(await stillAlive(sleepers)).toEqual([]);
    expect(notices).toEqual(['ended 3 processes that a dead host had left running']);
    expect(await recordsIn(stateDir)).toHaveLength(1);
  });
});

describe('a host that lives', () => {
  it('is left alone by the start of another', async () => {
    const stateDir = await newStateDir();
    const { host, below } = await smallHost({ stateDir });
    await using spawner = newSpawner({ stateDir });
    await recorded(spawner, 'cat');
    expect(await stillAlive(below)).toHaveLength(below.length);
    expect(await recordsIn(stateDir)).toHaveLength(2);
    expect(await leftAfterKill(host, below)).toEqual([]);
  });
});

describe.each(offered.filter((kind) => kind === 'pidns'))('with %s, a host', (kind) => {
  it('needs no reaper to take its children along', async () => {
    const { host, below, reaper } = await smallHost({ containments: [kind] });
    suspend(reaper);
    const children = below.filter(({ pid }) => pid !== reaper);
    expect(await leftAfterKill(host, children)).toEqual([]);
  });

  it('may run inside another, and sees its own processes only', async () => {
    const tag = newTag();
    const inner = { options: { instance: `inner-${tag}` }, children: { leaf: [sleeper, tag] } };
    const host = startHost({
      options: { instance: `outer-${tag}`, containments: [kind] },
      children: { inner: ['sh', '-c', `cd "$1"; shift; exec "$@"`, 'sh', ...hostCommand(inner)] },
    });
    await sleepersWith(tag);
    const printed = () =>
      host.lines.flatMap((line) => (line.kind === 'printed' ? line.text.split('\n') : []));
    await until(() => printed().some((line) => line.includes('"ready"')), 'the inner one is ready');
    expect(printed().join('\n')).toContain('"containment":"pidns"');
    const below = await table.descendants(host.pid);
    expect(await leftAfterKill(host, below)).toEqual([]);
  });
});
