// The life of real children, under every containment that this machine offers.

import { readdirSync, readFileSync } from 'node:fs';
import { chmod, cp, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import type { Containment } from '../../src/supervise/child.ts';
import { stopChild } from '../../src/supervise/process/end/stop.ts';
import type { StopPolicy, StopReport } from '../../src/supervise/process/end/stop-ladder.ts';
import type { Spawner } from '../../src/supervise/process/start/spawn.ts';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import {
  cgroupsNamed,
  newSpawner,
  offeredContainments,
  type RecordedChild,
  recorded,
  shell,
} from '../support/recorded-child.ts';
import { identified, newTag, sleeper, sleepersWith, stillAlive } from '../support/sleepers.ts';
import { until } from '../support/until.ts';

const table = systemProcesses();
const offered = await offeredContainments();

function stop(subject: RecordedChild, policy: Partial<StopPolicy> = {}): Promise<StopReport> {
  const whole = { stdinGraceMs: 10_000, termGraceMs: 10_000, ...policy };
  return stopChild(subject.child, subject.exited, systemClock, whole).finished;
}

describe.each(offered)('a child under the containment %s', (kind: Containment) => {
  let spawner: Spawner;
  beforeAll(() => {
    spawner = newSpawner({ containments: [kind] });
  });
  afterAll(() => spawner[Symbol.asyncDispose]());

  it('echoes what is written, and tells its end in order', async () => {
    const subject = await recorded(spawner, 'cat');
    expect(subject.child.containment).toBe(kind);
    expect(subject.told).toEqual([]);
    expect(await subject.write('hello')).toBeNull();
    subject.child.closeStdin();
    expect(await subject.exited).toEqual({ code: 0, signal: null });
    expect(subject.stdout().toString()).toBe('hello');
    expect(subject.told).toEqual(['stdout', 'ended', 'exited']);
    await subject.child.sweep();
  });

  it('delivers the whole output of a process that exits at once', async () => {
    const subject = await shell(spawner, 'head -c 3000000 /dev/zero; echo last >&2; exit 5');
    expect(await subject.exited).toEqual({ code: 5, signal: null });
    expect(subject.stdout()).toHaveLength(3_000_000);
    expect(subject.stderr().toString()).toBe('last\n');
    expect(subject.told.at(-1)).toBe('exited');
    await subject.child.sweep();
  });

  it('reads a megabyte of unsolicited stderr', async () => {
    const subject = await shell(spawner, 'head -c 1000000 /dev/zero >&2; exec cat');
    await subject.write('still here');
    await until(() => subject.stdout().length === 10, 'it has answered');
    await stop(subject);
    expect(subject.stderr()).toHaveLength(1_000_000);
  });

  it('is reported as exited although a grandchild holds its pipes', async () => {
    const tag = newTag();
    const subject = await shell(spawner, `sh ${sleeper} ${tag} & read -r go; exit 4`);
    const left = await sleepersWith(tag);
    await subject.write('go\n');
    expect(await subject.exited).toEqual({ code: 4, signal: null });
    await subject.child.sweep();
    expect(await stillAlive(left)).toEqual([]);
  });

  it('reports the signal that killed it', async () => {
    const subject = await shell(spawner, 'kill -SEGV $$');
    expect(await subject.exited).toEqual({ code: null, signal: 'SIGSEGV' });
    await subject.child.sweep();
  });

  it('has the pid by which a user can kill it', async () => {
    const tag = newTag();
    const subject = await recorded(spawner, sleeper, [tag]);
    expect(await sleepersWith(tag)).toMatchObject([{ pid: subject.child.pid }]);
    process.kill(subject.child.pid, 'SIGKILL');
    expect(await subject.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await subject.child.sweep();
  });

  it('tells the end of stdout while the process lives, and of stdin through the write', async () => {
    const subject = await shell(spawner, 'exec <&- >&-; exec sleep 1000');
    await until(() => subject.told.includes('ended'), 'stdout has ended');
    expect(await subject.write('into the void')).toMatchObject({ code: 'EPIPE' });
    expect(await subject.write('again')).toBeInstanceOf(Error);
    expect(await identified([subject.child.pid])).toHaveLength(1);
    await stop(subject, { stdinGraceMs: 0 });
  });

  it('fails a write that the child did not live to read', async () => {
    const holder = `sh ${sleeper} ${newTag()} <&0 & read -r line; exit 0`;
    const subject = await shell(spawner, holder);
    const written = subject.write(Buffer.concat([Buffer.from('go\n'), Buffer.alloc(5_000_000)]));
    expect(await written).toMatchObject({ code: 'EPIPE' });
    await subject.exited;
    expect(await subject.write('late')).toMatchObject({ code: 'EPIPE' });
    await subject.child.sweep();
  });

  it('is not read while it is paused', async () => {
    const subject = await shell(
      spawner,
      'read -r go; echo begun >&2; exec head -c 4000000 /dev/zero',
    );
    subject.child.pause();
    await subject.write('go\n');
    await until(() => subject.stderr().length > 0, 'it has begun to write');
    expect(subject.stdout()).toHaveLength(0);
    subject.child.resume();
    await subject.exited;
    expect(subject.stdout()).toHaveLength(4_000_000);
    await subject.child.sweep();
  });

  it('ignores no signal, is not pid 1, and keeps to its arguments #least-environment', async () => {
    const script = 'grep SigIgn /proc/self/status; echo "$$ $#:$1:$2"';
    const subject = await recorded(spawner, 'sh', ['-c', script, 'sh', 'two words', '$HOME']);
    await subject.exited;
    expect(subject.stdout().toString()).toMatch(/SigIgn:\s+0+\n(?!1 )\d+ 2:two words:\$HOME\n/);
    await subject.child.sweep();
  });

  it('leaves no zombie while it lives, whomever it orphans #no-orphans', async () => {
    const subject = await shell(spawner, '(sleep 0 & sleep 0 &); exec cat');
    await subject.write('x');
    await until(async () => {
      const below = await table.descendants(process.pid);
      const rows = await Promise.all(below.map(({ pid }) => table.find(pid)));
      return rows.every((row) => row === null || !row.isZombie);
    }, 'all zombies are collected');
    await stop(subject);
  });

  it('ends by the end of its stdin', async () => {
    const subject = await recorded(spawner, 'cat');
    expect(await stop(subject)).toEqual({
      exit: { code: 0, signal: null },
      rung: 'stdin',
      swept: 0,
    });
  });

  it('ends by SIGTERM when it does not read', async () => {
    const subject = await recorded(spawner, sleeper, [newTag()]);
    const report = await stop(subject, { stdinGraceMs: 0 });
    expect(report).toMatchObject({ exit: { signal: 'SIGTERM' }, rung: 'term' });
  });

  it('may answer SIGTERM in its own way', async () => {
    const subject = await shell(
      spawner,
      "trap 'echo bye; exit 9' TERM; echo up; while :; do sleep 0.01; done",
    );
    await until(() => subject.stdout().length > 0, 'it has set its trap');
    const report = await stop(subject, { stdinGraceMs: 0 });
    expect(report).toMatchObject({ exit: { code: 9, signal: null }, rung: 'term' });
    expect(subject.stdout().toString()).toBe('up\nbye\n');
  });

  it('ends by SIGKILL when it is deaf #stop-ladder', async () => {
    const tag = newTag();
    const subject = await shell(spawner, `trap '' TERM INT HUP; sh ${sleeper} ${tag}; :`);
    const deaf = await sleepersWith(tag);
    const report = await stop(subject, { stdinGraceMs: 0, termGraceMs: 50 });
    expect(report).toMatchObject({ exit: { signal: 'SIGKILL' }, rung: 'kill' });
    expect(await stillAlive(deaf)).toEqual([]);
  });

  it('takes its grandchildren along, in whatever session they are', async () => {
    const tag = newTag();
    const one = `sh ${sleeper} ${tag}`;
    const subject = await shell(
      spawner,
      `${one} & setsid ${one} & setsid env -i /bin/${one} & (setsid ${one} &); cat; exit 0`,
    );
    const below = await sleepersWith(tag, 4);
    const report = await stop(subject);
    expect(report).toMatchObject({ exit: { code: 0 }, rung: 'stdin' });
    if (kind !== 'pidns') expect(report.swept).toBe(4);
    expect(await stillAlive(below)).toEqual([]);
  });

  it('is gone with its spawner', async () => {
    const own = newSpawner({ containments: [kind] });
    const tag = newTag();
    const one = `sh ${sleeper} ${tag}`;
    const subject = await shell(own, `trap '' TERM; setsid ${one} & ${one}; :`);
    const below = await sleepersWith(tag, 2);
    await own[Symbol.asyncDispose]();
    expect(await subject.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(await stillAlive(below)).toEqual([]);
  });

  it('leaves neither descriptors nor cgroups behind in a hundred lives', async () => {
    const live = async (): Promise<void> => {
      const subject = await recorded(spawner, 'cat', [], { processes: 4 });
      await subject.write('x');
      await stop(subject);
    };
    await live();
    const before = readdirSync('/proc/self/fd').length;
    for (let life = 0; life < 100; life++) await live();
    expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before);
    expect(cgroupsNamed(`holdfast-t${process.pid}-`)).toEqual([]);
  });
});

describe('a spawner', () => {
  it.each([
    ['', null],
    [' also with limits', 8],
  ])(
    'gives a child the safe environment, what is declared, and its mark%s',
    async (_, processes) => {
      const sourceEnv = { PATH: process.env['PATH'], LANG: 'C', SECRET: 'x', APP_KEY: 'y' };
      await using spawner = newSpawner({ sourceEnv, instance: 'marked-one' });
      const more = { env: { DECLARED: 'yes' }, inheritEnv: ['APP_*'] };
      const subject = await recorded(spawner, 'env', [], { ...more, processes });
      await subject.exited;
      expect(subject.stdout().toString().trim().split('\n').sort()).toEqual([
        'APP_KEY=y',
        'DECLARED=yes',
        'HOLDFAST_INSTANCE=marked-one.1;',
        'LANG=C',
        `PATH=${process.env['PATH']}`,
      ]);
    },
  );

  it.each([
    ['a command that is not there', { command: 'no-such-command' }],
    ['a working directory that is not there', { cwd: '/no/such/directory' }],
    ['arguments that are too long', { args: ['x'.repeat(4_000_000)] }],
    ['an argument with a NUL byte', { args: ['a\0b'] }],
  ])('refuses %s with a fault', async (_title, more) => {
    await using spawner = newSpawner();
    const birth = recorded(spawner, 'cat', [], more);
    await expect(birth).rejects.toMatchObject({
      name: 'Fault',
      code: 'unavailable',
      dispatched: 'no',
      record: { server: 'subject' },
    });
  });

  it('starts a program whose path has an equals sign and spaces', async () => {
    await using spawner = newSpawner();
    const dir = await mkdtemp(join(tmpdir(), 'holdfast a=b '));
    onTestFinished(() => rm(dir, { recursive: true }));
    await cp(sleeper, join(dir, 'c=d'));
    await chmod(join(dir, 'c=d'), 0o755);
    const tag = newTag();
    const subject = await recorded(spawner, './c=d', [tag], { cwd: dir });
    expect(await sleepersWith(tag)).toMatchObject([{ pid: subject.child.pid }]);
    await stop(subject, { stdinGraceMs: 0 });
  });

  it('loses nothing of a process that ends before its start is complete', async () => {
    // Without /proc a birth takes longer than this life.
    await using spawner = newSpawner({ procDir: '/nowhere' });
    for (let life = 0; life < 5; life++) {
      const subject = await shell(spawner, 'echo out; echo err >&2; exit 3');
      expect(await subject.exited).toEqual({ code: 3, signal: null });
      expect(`${subject.stdout()}${subject.stderr()}`).toBe('out\nerr\n');
    }
  });

  it('starts many children at once', async () => {
    await using spawner = newSpawner();
    const subjects = await Promise.all(
      Array.from({ length: 20 }, () => recorded(spawner, 'cat', [])),
    );
    for (const subject of subjects) await subject.write('x');
    const reports = await Promise.all(subjects.map((subject) => stop(subject)));
    expect(reports.every(({ rung }) => rung === 'stdin')).toBe(true);
  });

  it('takes its reaper along, and refuses to start anything more', async () => {
    const spawner = newSpawner();
    const subject = await recorded(spawner, 'cat');
    const reapers = await reapersBelow();
    expect(reapers).toHaveLength(1);
    await stop(subject);
    const ending = spawner[Symbol.asyncDispose]();
    expect(spawner[Symbol.asyncDispose]()).toBe(ending);
    await ending;
    expect(await reapersBelow()).toEqual([]);
    await expect(recorded(spawner, 'cat')).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('starts another reaper when somebody kills it', async () => {
    const notices: string[] = [];
    await using spawner = newSpawner({ notice: (message) => notices.push(message) });
    await recorded(spawner, 'cat');
    const [first = 0] = await reapersBelow();
    process.kill(first, 'SIGTERM');
    process.kill(first, 'SIGKILL');
    await until(async () => (await reapersBelow()).some((pid) => pid !== first), 'it is back');
    expect(notices).toHaveLength(1);
  });

  it('ends nothing and leaves nothing when it was never used', async () => {
    const spawner = newSpawner();
    await spawner[Symbol.asyncDispose]();
    expect(await reapersBelow()).toEqual([]);
  });

  it('records what it runs, privately, until its orderly end', async () => {
    const stateDir = await mkdtemp(join(tmpdir(), 'holdfast-state-'));
    onTestFinished(() => rm(stateDir, { recursive: true }));
    const spawner = newSpawner({ stateDir });
    const subject = await recorded(spawner, 'cat');
    const dir = join(stateDir, 'instances');
    const recordOf = async () =>
      JSON.parse(await readFile(join(dir, (await readdir(dir))[0] ?? ''), 'utf8'));
    await until(async () => (await recordOf()).processes.length === 1, 'the child is recorded');
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    expect((await stat(join(dir, (await readdir(dir))[0] ?? ''))).mode & 0o777).toBe(0o600);
    await stop(subject);
    await spawner[Symbol.asyncDispose]();
    expect(await readdir(dir)).toEqual([]);
  });

  it('claims no namespace where the tools for it are missing', async () => {
    await using spawner = newSpawner({ sourceEnv: { PATH: '/nowhere' } });
    expect(['cgroup', 'marker']).toContain(await spawner.containment());
    const subject = await recorded(spawner, '/bin/cat');
    expect(['cgroup', 'marker']).toContain(subject.child.containment);
  });

  it('does its work without /proc, by ps', async () => {
    await using spawner = newSpawner({ procDir: '/nowhere' });
    expect(await spawner.containment()).toBe('group');
    const tag = newTag();
    const one = `sh ${sleeper} ${tag}`;
    const subject = await shell(spawner, `setsid ${one} & ${one} & cat; exit 0`);
    const below = await sleepersWith(tag, 2);
    expect(await stop(subject)).toMatchObject({ rung: 'stdin', swept: 2 });
    expect(await stillAlive(below)).toEqual([]);
  });
});

async function reapersBelow(): Promise<number[]> {
  const below = await table.descendants(process.pid);
  return below
    .map(({ pid }) => pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('\0holdfast-reaper\0');
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
}
