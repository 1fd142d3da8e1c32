// The crash test in small: the same functions as `npm run crashtest`, a few of each.

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { buildFolder } from '../support/build.ts';
import { Dice } from '../support/dice.ts';
import { damageFiles } from './damage.ts';
import { failDisks } from './disk-faults.ts';
import { coveredCalls } from './injected-faults/covered.mjs';
import { runKills } from './kills.ts';
import { shippedIn } from './shipped.ts';
import { failCalls, failedCalls, killedBy, toldBy } from './sqlite/failing-calls.ts';
import { HangingGateway } from './sqlite/hanging-disk.ts';
import { damagedFiles, harmBytes } from './sqlite/harmed-bytes.ts';
import { cutPower, powerCuts } from './sqlite/power-cuts.ts';
import { straceRefusal } from './sqlite/traced.ts';
import { workload } from './sqlite/workload.ts';
import { WrittenHome } from './sqlite/written-home.ts';
import { Tally } from './tally.ts';
import { tearFiles } from './torn-tails.ts';

const shipped = await shippedIn(process.env['HOLDFAST_BUILD'] ?? 'dist');
const { signal } = new AbortController();
const seed = 4;

describe('a gateway that is killed while it writes', () => {
  it('starts again and has lost nothing it had acknowledged, 12 times #durable #event-log #no-orphans', async () => {
    const tally = new Tally();
    const progress = () => {};
    await runKills({ kills: 12, seed, shipped, tally, signal, progress, isKept: false });
    expect(tally.findings).toEqual([]);
    expect(tally.kills).toBe(12);
    expect(tally.killsInside).toBeGreaterThan(3);
  });
});

describe('the files of a gateway', () => {
  it('are reported and set aside when they are torn, at any byte #durable #event-log', async () => {
    const tally = new Tally();
    await tearFiles({ shipped, tally, dice: new Dice('torn'), every: 9, signal });
    expect(tally.findings).toEqual([]);
    expect(tally.tornOffsets).toBeGreaterThan(200);
  });

  it('may be damaged in any way: it starts, serves and says what to do #durable', async () => {
    const tally = new Tally();
    await damageFiles({ shipped, tally, signal, every: 5 });
    expect(tally.findings).toEqual([]);
    expect(tally.damages).toBe(6);
  });
});

describe('a disk that fails', () => {
  it('fails no call, is shown by status, and catches up #disk-faults #event-log #status', async () => {
    const tally = new Tally();
    await failDisks({ shipped, tally, signal, every: 9 });
    expect(tally.findings).toEqual([]);
    expect(tally.diskFaults).toBeGreaterThan(4);
  });
});

describe('the database of a gateway', () => {
  const tally = new Tally();
  const refusal = straceRefusal();
  const node = process.execPath;
  const build = resolve(buildFolder);
  const shared = { node, build, tally, signal };

  it.runIf(refusal === undefined)(
    'has lost nothing when its writes fail or kill it, and says what it refuses #durable #disk-faults',
    async () => {
      await failCalls({ ...shared, dice: new Dice('calls'), every: 29 });
      expect(tally.findings).toEqual([]);
      expect(tally.triedOf(failedCalls)).toBeGreaterThan(12);
      expect(tally.triedOf(killedBy)).toBeGreaterThan(2);
      expect(tally.triedOf(toldBy)).toBeGreaterThan(2);
    },
  );

  it.runIf(refusal === undefined)(
    'has lost nothing when the power is cut, also after forcing to the disk has failed #durable',
    async () => {
      await cutPower({ ...shared, dice: new Dice('power'), every: 45 });
      expect(tally.findings).toEqual([]);
      expect(tally.triedOf(powerCuts)).toBeGreaterThan(40);
    },
  );

  it('may be damaged in every page and in every frame of its log: what is missing is reported #durable', async () => {
    await harmBytes({ ...shared, dice: new Dice('harm'), every: 139 });
    expect(tally.findings).toEqual([]);
    expect(tally.triedOf(damagedFiles)).toBeGreaterThan(100);
  });

  it.runIf(refusal === undefined)(
    'forces the names of its folders to the disk before anything is acknowledged #durable',
    async () => {
      using home = new WrittenHome();
      const above = dirname(home.folder);
      const work = workload(new Dice('folders'), { groups: 1, largest: 0 });
      await home.write(work, { node, build, isLogged: true, paths: [above] });
      const calls = home.calls().split('\n');
      const first = calls.findIndex(
        (line) => line.includes(' write(') && line.includes(hex(home.told)),
      );
      const before = calls.slice(0, first).filter((line) => line.includes('fsync('));
      expect(first).toBeGreaterThan(0);
      expect(
        before.filter((line) => line.includes(`<${hex(home.folder)}>`)).length,
      ).toBeGreaterThan(0);
      expect(before.filter((line) => line.includes(`<${hex(above)}>`)).length).toBeGreaterThan(0);
    },
  );
});

describe('a database whose disk hangs', () => {
  it.runIf(straceRefusal() === undefined)(
    'holds up calls with an idempotency key, and no others #disk-faults',
    async () => {
      // Far longer than everything here takes.
      await using gateway = await HangingGateway.start(resolve(buildFolder), 600_000);
      let isAnswered = false;
      const withKey = gateway.call(true).then(() => {
        isAnswered = true;
      });
      withKey.catch(() => {});
      const answers: boolean[] = [];
      for (let call = 0; call < 200; call += 1) answers.push(await gateway.call(false));
      expect(answers.filter((isGood) => isGood)).toHaveLength(200);
      expect(isAnswered).toBe(false);
    },
  );
});

/** As strace writes it. */
function hex(text: string): string {
  return [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}

describe('the fault injection of these tests', () => {
  /** They change nothing in the state directory. */
  const harmless = ['mkdtemp', 'realpath', 'rmdir', 'statfs'];

  it('covers every call by which the source touches a file', () => {
    const source = fileURLToPath(new URL('../../src', import.meta.url));
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
    );
    const used = files.flatMap((file) => {
      const text = readFileSync(join(source, file), 'utf8');
      const [, names = ''] = /import \{([^}]*)\} from 'node:fs\/promises'/.exec(text) ?? [];
      return names.split(',').map((name) => name.trim());
    });
    const calls = used.filter((name) => name !== '' && !name.startsWith('type '));
    const known = new Set([...coveredCalls, ...harmless]);
    expect(calls.length).toBeGreaterThan(10);
    expect(calls.filter((name) => !known.has(name))).toEqual([]);
  });

  it.each([
    "fs.writeFileSync(file, 'x')",
    "fs.appendFile(file, 'x', () => {})",
    "await fs.promises.appendFile(file, 'x')",
    'await fs.promises.copyFile(process.execPath, file)',
    'fs.createWriteStream(file)',
    "const handle = await fs.promises.open(file, 'w'); await handle.appendFile('x')",
    "const handle = await fs.promises.open(file, 'w'); await handle.writev([Buffer.from('x')])",
  ])('ends a program that goes around it: %s', async (statement) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-faults-'));
    try {
      const plan = join(folder, 'plan.json');
      writeFileSync(plan, JSON.stringify({ state: folder }));
      const program = `import fs from 'node:fs'; const file = ${JSON.stringify(join(folder, 'file'))}; ${statement}`;
      const preload = new URL('./injected-faults/preload.mjs', import.meta.url).href;
      const args = ['--import', preload, '--input-type=module', '--eval', program];
      const env = { ...process.env, HOLDFAST_TEST_FAULT_PLAN: plan };
      const run = promisify(execFile)(process.execPath, args, { env });
      await expect(run).rejects.toMatchObject({
        code: 97,
        stderr: expect.stringContaining('does not cover'),
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
