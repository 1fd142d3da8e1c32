import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { type EventLogProblem, openEventLog } from '../../src/observe/event-log.ts';
import { builtModule } from '../support/build.ts';

let folder: string;
let file: string;
let problems: EventLogProblem[];
const report = (problem: EventLogProblem) => void problems.push(problem);
const open = (maxBytes = 8_388_608) =>
  openEventLog(folder, maxBytes, { clock: systemClock, report });
const recordsIn = (...files: string[]): { n: number; from?: string }[] =>
  files.flatMap((name) =>
    readFileSync(name, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  );
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'holdfast-log-')), 'state');
  file = join(folder, 'events.jsonl');
  problems = [];
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

describe('the event log on a real disk', () => {
  it('is for this user alone and goes on where it ended', async () => {
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    for (const n of [1, 2]) {
      await using log = open();
      log.append({ n });
    }
    expect(recordsIn(file)).toEqual([{ n: 1 }, { n: 2 }]);
    expect([modeOf(folder), modeOf(file)]).toEqual(['700', '600']);
    expect(problems).toEqual([]);
  });

  it('touches nothing when nothing happens', async () => {
    await open()[Symbol.asyncDispose]();
    expect(existsSync(folder)).toBe(false);
  });

  it('is rotated before it gets too big, and one previous file is kept', async () => {
    await using log = open(10_000);
    for (let n = 0; n < 400; n += 1) {
      log.append({ n, pad: 'x'.repeat(80) });
      if (n % 10 === 9) await log.flush();
    }
    const numbers = recordsIn(`${file}.1`, file).map(({ n }) => n);
    expect(statSync(file).size).toBeLessThanOrEqual(10_000);
    expect(statSync(`${file}.1`).size).toBeLessThanOrEqual(10_000);
    expect(numbers).toEqual(
      Array.from({ length: numbers.length }, (_, k) => 400 - numbers.length + k),
    );
    expect(existsSync(`${file}.lock`)).toBe(false);
    expect(modeOf(`${file}.1`)).toBe('600');
  });

  it.each([
    ['half a line', '{"n":0}\n', '{"n":99,"half'],
    ['a very long fragment', '{"n":0}\n', 'x'.repeat(200_000)],
    ['nothing but a fragment', '', '{"n":'],
  ])('cuts off what a crash left: %s', async (_, whole, fragment) => {
    mkdirSync(folder);
    writeFileSync(file, whole + fragment);
    {
      await using log = open();
      log.append({ n: 1 });
    }
    expect(readFileSync(file, 'utf8')).toBe(`${whole}{"n":1}\n`);
    expect(problems).toMatchObject([{ kind: 'torn' }]);
    expect(problems[0]?.detail).toContain(`${fragment.length} bytes`);
  });

  it('begins a new file when somebody deletes it', async () => {
    await using log = open();
    log.append({ n: 1 });
    await log.flush();
    rmSync(file);
    log.append({ n: 2 });
    await log.flush();
    expect(recordsIn(file)).toEqual([{ n: 2 }]);
  });

  it('waits for a disk that does not take it, and catches up', async () => {
    mkdirSync(file, { recursive: true });
    await using log = open();
    log.append({ n: 1 });
    await log.flush();
    expect(problems).toMatchObject([{ kind: 'unwritable', code: 'EISDIR' }]);
    rmdirSync(file);
    log.append({ n: 2 });
    await log.flush();
    expect(recordsIn(file)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(problems.map(({ kind }) => kind)).toEqual(['unwritable', 'recovered']);
  });

  it('is not kept from rotating for ever by a lock whose owner died', async () => {
    await using log = open(1_000);
    const step = async (n: number) => {
      log.append({ n, pad: 'x'.repeat(700) });
      await log.flush();
    };
    await step(0);
    writeFileSync(`${file}.lock`, '');
    await step(1);
    expect(existsSync(`${file}.1`)).toBe(false);
    utimesSync(`${file}.lock`, 0, 0);
    await step(2);
    await step(3);
    expect(recordsIn(`${file}.1`, file).map(({ n }) => n)).toEqual([0, 1, 2, 3]);
    expect(existsSync(`${file}.lock`)).toBe(false);
  });
});

describe('several writers of one event log', () => {
  it('lose no line and tear none while the file is rotated under them', async () => {
    const writers = ['a', 'b', 'c'];
    await Promise.all(
      writers.map(async (from) => {
        await using log = open(60_000);
        for (let n = 0; n < 300; n += 1) {
          log.append({ n, from, pad: 'x'.repeat(60) });
          if (n % 3 === 0) await log.flush();
        }
      }),
    );
    const records = recordsIn(`${file}.1`, file);
    for (const from of writers) {
      const numbers = records.filter((record) => record.from === from).map(({ n }) => n);
      expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, n) => n));
    }
    expect(problems).toEqual([]);
  });

  const program = `
    import { openEventLog } from ${JSON.stringify(builtModule('observe/event-log.js'))};
    import { systemClock } from ${JSON.stringify(builtModule('kernel/system-clock.js'))};
    const [, folder, from, count] = process.argv;
    const log = openEventLog(folder, 200_000, { clock: systemClock, report: () => process.exit(9) });
    for (let n = 0; n < Number(count); n += 1) {
      log.append({ n, from, pad: 'x'.repeat(60) });
      if (n % 5 === 0) { await log.flush(); process.stdout.write(n + '\\n'); }
    }
    await log[Symbol.asyncDispose]();`;
  const start = (from: string, count: number) => {
    const args = ['--input-type=module', '-e', program, folder, from];
    const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit'];
    const child = spawn(process.execPath, [...args, String(count)], { stdio });
    return { child, exited: once(child, 'exit') };
  };

  it('may be processes of their own', async () => {
    const writers = ['a', 'b'].map((from) => start(from, 1_800));
    for (const { child, exited } of writers) {
      child.stdout.resume();
      expect(await exited).toEqual([0, null]);
    }
    const records = recordsIn(`${file}.1`, file);
    for (const from of ['a', 'b']) {
      const numbers = records.filter((record) => record.from === from).map(({ n }) => n);
      expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 1_800 }, (_, n) => n));
    }
  });

  it('may be killed: what they had flushed is there, and every line is whole', async () => {
    const { child, exited } = start('a', 1_000_000);
    let flushed = -1;
    for await (const line of createInterface({ input: child.stdout })) {
      flushed = Number(line);
      if (flushed === 200) child.kill('SIGKILL');
    }
    expect(await exited).toEqual([null, 'SIGKILL']);
    appendFileSync(file, '{"n":');
    {
      await using log = open();
      log.append({ n: -1 });
    }
    const numbers = recordsIn(...[`${file}.1`, file].filter((name) => existsSync(name))).map(
      ({ n }) => n,
    );
    expect(numbers.at(-1)).toBe(-1);
    expect(numbers.length - 1).toBeGreaterThan(flushed);
    expect(numbers.slice(0, -1)).toEqual(Array.from({ length: numbers.length - 1 }, (_, n) => n));
  });
});
