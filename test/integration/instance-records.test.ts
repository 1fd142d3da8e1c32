// The records from which a start learns what a dead host has left running, on a disk that fails: they
// are a safety net, so nothing that goes wrong with them may keep a server from starting, and nothing
// of them may vanish without a word.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { InstanceRecord, recordsDir } from '../../src/supervise/process/contain/instance-record.ts';
import { sweepOrphans } from '../../src/supervise/process/end/orphan-sweep.ts';
import { createSpawner } from '../../src/supervise/process/start/spawn.ts';
import type { ProcessIdentity } from '../../src/supervise/process/watch/process-table.ts';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';

const host = { pid: process.pid, start: '1' };
let stateDir = '';
let notices: string[] = [];

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-records-'));
  stateDir = folder;
  notices = [];
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

const notice = (line: string) => void notices.push(line);
const sweep = (follows?: ProcessIdentity) =>
  sweepOrphans({
    follows,
    stateDir,
    procDir: '/proc',
    table: systemProcesses(),
    clock: systemClock,
    notice,
  });
const newRecord = () =>
  new InstanceRecord({ stateDir, instance: 'me', procDir: '/proc', host, notice });
const files = () => readdir(recordsDir(stateDir));

describe('a record of a host', () => {
  it('that is damaged is moved aside with its name and what to do, and keeps its content', async () => {
    await mkdir(recordsDir(stateDir));
    await writeFile(join(recordsDir(stateDir), 'torn.json'), '{"version":1,"inst');
    expect(await sweep()).toBe(0);
    expect(await files()).toEqual(['torn.json.damaged']);
    expect(await readFile(join(recordsDir(stateDir), 'torn.json.damaged'), 'utf8')).toContain(
      'inst',
    );
    expect(notices).toEqual([expect.stringMatching(/torn\.json is damaged.*moved to.*delete/)]);
    expect(await sweep()).toBe(0);
    expect([notices.length, await files()]).toEqual([1, ['torn.json.damaged']]);
  });

  it('that is larger than any record is not read but moved aside, and its host is not waited for', async () => {
    await mkdir(recordsDir(stateDir));
    const file = join(recordsDir(stateDir), 'huge.json');
    await writeFile(file, '');
    await truncate(file, 3 * 2 ** 30);
    expect(await sweep()).toBe(0);
    expect(await files()).toEqual(['huge.json.damaged']);
    expect(notices).toEqual([expect.stringMatching(/huge\.json is damaged.*moved to.*delete/)]);
  });

  it('that cannot be read is left for the next start, and the others are looked after', async () => {
    await mkdir(join(recordsDir(stateDir), 'a.json'), { recursive: true });
    await writeFile(join(recordsDir(stateDir), 'b.json'), 'rubbish');
    expect(await sweep()).toBe(0);
    expect((await files()).sort()).toEqual(['a.json', 'b.json.damaged']);
    expect(notices[0]).toMatch(/cannot process .*a\.json \(EISDIR\)/);
  });

  it('that cannot be written is announced once, and written as soon as it can be', async () => {
    await writeFile(recordsDir(stateDir), 'in the way');
    const record = newRecord();
    await record.open();
    record.add({ pid: 1, start: '1' }, []);
    await record.open();
    expect(notices).toEqual([expect.stringMatching(/cannot write .*me\.json \(E[A-Z]+\)/)]);
    await rm(recordsDir(stateDir));
    await record.open();
    expect(JSON.parse(await readFile(join(recordsDir(stateDir), 'me.json'), 'utf8'))).toMatchObject(
      {
        processes: [{ pid: 1, start: '1' }],
      },
    );
    await record[Symbol.asyncDispose]();
    expect(await files()).toEqual([]);
    expect(notices).toHaveLength(1);
  });

  it('is not written again once its host has ended, whatever is swept afterwards', async () => {
    const record = newRecord();
    const child = { pid: 1, start: '1' };
    record.add(child, []);
    await record.open();
    const ended = record[Symbol.asyncDispose]();
    record.remove(child, []);
    await ended;
    record.add(child, []);
    await record.open();
    expect(await files()).toEqual([]);
  });

  it('that names a host that is gone leaves its processes to the pid-holder that lives #rollout', async () => {
    const table = systemProcesses();
    const own = await table.find(process.pid);
    if (own === null) throw new Error('this process is not in the table');
    const holder = { pid: own.pid, start: own.start };
    const child = spawn('sleep', ['600'], {
      env: { ...process.env, HOLDFAST_INSTANCE: 'me' },
      detached: true,
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    onTestFinished(() => void child.kill('SIGKILL'));
    const started = await table.find(child.pid ?? 0);
    if (started === null) throw new Error('it is not in the table');
    // As it stays on a full disk after a rollout: the former serving process is gone.
    const record = new InstanceRecord({
      ...{ stateDir, instance: 'me', procDir: '/proc', notice, holder },
      host: { pid: process.pid, start: '1' },
    });
    record.add({ pid: started.pid, start: started.start }, []);
    await record.open();
    expect([await sweep(), await files()]).toEqual([0, ['me.json']]);
    expect(await sweep({ ...holder, start: 'of another' })).toBe(0);
    expect(child.exitCode ?? child.signalCode).toBeNull();
    // The next serving process after one that was killed ends them.
    expect(await sweep(holder)).toBe(1);
    expect([await ended, await files()]).toEqual([[null, expect.stringMatching(/^SIG/)], []]);
  });

  it('goes with its host, also if nothing could be prepared for a child', async () => {
    const refused = () => {
      throw new Error('no containment can be had');
    };
    const spawner = createSpawner({
      clock: systemClock,
      instance: 'spawner',
      stateDir,
      sourceEnv: { PATH: process.env['PATH'] },
      containments: Object.assign([], { includes: refused }),
      notice,
    });
    await expect(spawner.containment()).rejects.toThrow('no containment');
    await spawner[Symbol.asyncDispose]();
    expect(await files()).toEqual([]);
  });

  it('that cannot be removed at the end is left to the next start, and the end is not disturbed', async () => {
    const record = newRecord();
    await record.open();
    await rm(recordsDir(stateDir), { recursive: true });
    await mkdir(join(recordsDir(stateDir), 'me.json', 'in the way'), { recursive: true });
    await record[Symbol.asyncDispose]();
    expect(notices).toEqual([expect.stringMatching(/cannot remove .*me\.json/)]);
  });
});
