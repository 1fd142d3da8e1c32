import { execFileSync } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Dice } from '../../test/support/dice.ts';
import { type InstanceLock, lockState, takeLock } from './lock.ts';
import {
  endIn,
  endText,
  holderIn,
  holderText,
  isAlive,
  type LockHolder,
  ownHolder,
} from './lock-holder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A process that exists in this test only. */
const holder = (pid: number): LockHolder => ({
  ...{ pid, start: String(pid), boot: 'b', pidNamespace: 'n', program: '1', since: 0 },
  ...{ startedBy: null, isEnding: false },
});

/** Whom the highest number names. */
function lockHolder(): LockHolder | undefined {
  const numbers = readdirSync(folder).map((name) => Number(name.slice('lock.'.length)));
  return holderIn(readlinkSync(join(folder, `lock.${Math.max(...numbers)}`)));
}

describe('the lock of an instance', () => {
  it('is taken by one of many that try at once, and the others learn who it is', async () => {
    const attempts = await Promise.all(
      Array.from({ length: 30 }, (_, at) => takeLock(folder, holder(at + 1), async () => true)),
    );
    const taken = attempts.flatMap((attempt, at) => (attempt.kind === 'taken' ? [at + 1] : []));
    expect(taken).toHaveLength(1);
    for (const attempt of attempts) {
      if (attempt.kind === 'held') expect(attempt.by.pid).toBe(taken[0]);
    }
    expect(lockHolder()?.pid).toBe(taken[0]);
  });

  it('never has two living holders, however processes come, die and end #one-instance', async () => {
    const dice = new Dice('lock');
    const living = new Map<number, InstanceLock | 'trying'>();
    let holders = 0;
    let most = 0;
    let pids = 0;
    const isHeld = async ({ pid }: LockHolder) => living.has(pid);
    const live = async () => {
      pids += 1;
      const pid = pids;
      living.set(pid, 'trying');
      const attempt = await takeLock(folder, holder(pid), isHeld);
      if (attempt.kind === 'taken') {
        holders += 1;
        most = Math.max(most, holders);
        for (let turn = dice.between(0, 4); turn > 0; turn -= 1) await new Promise(setImmediate);
        holders -= 1;
        // Either it ends in good order, or it is killed.
        if (dice.chance(0.5)) await attempt.lock.release();
      }
      living.delete(pid);
    };
    for (let round = 0; round < 40; round += 1) {
      await Promise.all(Array.from({ length: 8 }, live));
    }
    expect(most).toBe(1);
    expect(pids).toBe(320);
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect(readdirSync(folder).length).toBeLessThan(10);
  });

  it('is free after a release, and after a text that is no holder', async () => {
    const first = await takeLock(folder, holder(1), async () => true);
    if (first.kind === 'taken') await first.lock.release();
    expect(lockHolder()).toBeUndefined();
    const second = await takeLock(folder, holder(2), async () => true);
    expect(second.kind).toBe('taken');
    const words = ['released', '|', '1', '1|1|b|n|0|1', '-1|1|b|n|0|1|', '1|1|b|n|?|1|', 'ended|0'];
    for (const [at, text] of words.entries()) {
      symlinkSync(text, join(folder, `lock.${7 + at}`));
      expect(holderIn(text)).toBeUndefined();
      expect(lockHolder()).toBeUndefined();
    }
    writeFileSync(join(folder, 'lock.70'), 'no link');
    expect((await takeLock(folder, holder(3), async () => true)).kind).toBe('taken');
    expect(lockHolder()).toEqual(holder(3));
  });

  it('numbers its files on and on, so that an old look cannot make one that counts #one-instance', async () => {
    let isDead = false;
    const slow = takeLock(folder, holder(9), async () => false);
    await slow;
    // While this one looks at a dead holder, two others come and go.
    const late = takeLock(folder, holder(1), async ({ pid }) => {
      if (isDead) return pid === 3;
      isDead = true;
      const second = await takeLock(folder, holder(2), async () => false);
      expect(second.kind).toBe('taken');
      const third = await takeLock(folder, holder(3), async () => false);
      expect(third.kind).toBe('taken');
      return false;
    });
    expect(await late).toEqual({ kind: 'held', by: holder(3) });
    expect(lockHolder()?.pid).toBe(3);
  });

  it('says after an orderly end when that was, and whether somebody has asked for it', async () => {
    const attempt = await takeLock(folder, holder(1), async () => true);
    const end = { endedAt: 1_700_000_000_000, isAsked: true, startedBy: 'serve' } as const;
    if (attempt.kind === 'taken') await attempt.lock.release(end);
    expect(endIn((await lockState(folder)).text)).toEqual(end);
    expect(endIn(endText({ ...end, isAsked: false }))).toEqual({ ...end, isAsked: false });
    for (const text of ['', 'released', 'ended', 'ended|?', holderText(holder(1))]) {
      expect(endIn(text)).toBeUndefined();
    }
  });

  it('does not go beyond the highest number, and does not wait for a pipe', async () => {
    execFileSync('mkfifo', [join(folder, 'lock.8')]);
    expect((await takeLock(folder, holder(1), async () => true)).kind).toBe('taken');
    symlinkSync('released', join(folder, 'lock.999999999999999'));
    const beyond = takeLock(folder, holder(2), async () => true);
    await expect(beyond).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('counts if it is the file of an older program whose process lives', async () => {
    const own = { pid: 5, start: '5', boot: 'b', pidNamespace: 'pid:[7]', program: '0', since: 1 };
    writeFileSync(join(folder, 'lock.3'), JSON.stringify(own));
    const attempt = await takeLock(folder, holder(1), async ({ pid }) => pid === 5);
    expect(attempt).toMatchObject({ kind: 'held', by: { pid: 5, pidNamespace: '7' } });
    writeFileSync(join(folder, 'lock.3'), '');
    expect((await takeLock(folder, holder(1), async () => true)).kind).toBe('taken');
  });

  it('needs no block of the disk: its text is short enough to be kept in the link itself', async () => {
    const own = await ownHolder('10.10.10', Date.now());
    expect(holderIn(holderText(own))).toEqual(own);
    const facts = { startedBy: 'connect', isEnding: true } as const;
    expect(holderIn(holderText({ ...own, ...facts }))).toEqual({ ...own, ...facts });
    const long = { ...own, ...facts, pid: 4_194_304, start: '9'.repeat(8) };
    expect(Buffer.byteLength(holderText(long))).toBeLessThan(60);
  });

  it('knows this process as alive, and others by their start, boot and namespace', async () => {
    const own = await ownHolder('1', 0);
    expect(await isAlive(own)).toBe(true);
    expect(await isAlive({ ...own, start: '1' })).toBe(false);
    expect(await isAlive({ ...own, boot: 'another' })).toBe(false);
    expect(await isAlive({ ...own, pid: 4_194_305 })).toBe(false);
    expect(await isAlive({ ...own, pidNamespace: 'another' })).toBeUndefined();
  });
});
