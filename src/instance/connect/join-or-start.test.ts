import { appendFileSync, lutimesSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Clock } from '../../kernel/clock.ts';
import type { Fault } from '../../kernel/fault.ts';
import { systemClock } from '../../kernel/system-clock.ts';
import type { DetachedEnd } from '../../supervise/process/start/start-detached.ts';
import { welcomeFor } from '../greeting.ts';
import { takeLock } from '../lock.ts';
import { type LockEnd, type LockHolder, ownHolder } from '../lock-holder.ts';
import { joinOrStart } from './join-or-start.ts';

let folder: string;
/** Why the last one was not started. */
let said: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-join-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface FakeEnd extends Partial<DetachedEnd> {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it writes to its log. */
  readonly says?: string;
}

interface Around {
  readonly isWanted?: boolean;
  readonly clock?: Clock;
  /** After so many looks the client has gone. */
  readonly maxLooks?: number;
}

/** Each pause is over at once, and time has passed by it. */
function hurriedClock(): Clock {
  const wallStart = Date.now();
  let now = 0;
  return {
    now: () => now,
    wallNow: () => wallStart + now,
    after: (ms, task) => {
      now += ms;
      setImmediate(task);
      return { [Symbol.dispose]: () => {} };
    },
  };
}

/** Each instance that is started ends in this way. */
async function startsThatEnd(ends: readonly FakeEnd[], around: Around = {}) {
  const { isWanted = true, clock = systemClock, maxLooks = 40 } = around;
  let starts = 0;
  let looks = 0;
  const joining = joinOrStart({
    place: {
      config: '/holdfast.json',
      folder,
      socket: join(folder, 'control.sock'),
      database: join(folder, 'state.db'),
    },
    clock,
    random: () => 0,
    program: '1',
    facts: () => ({ folder, pid: 1 }),
    start: async (log) => {
      const end = ends[Math.min(starts, ends.length - 1)] ?? { code: 2, signal: null };
      starts += 1;
      const logFrom = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
      if (end.says !== undefined) appendFileSync(log, end.says);
      return { ended: Promise.resolve({ error: null, ...end }), logFrom };
    },
    isOver: () => {
      looks += 1;
      return looks > maxLooks;
    },
    isWanted: () => isWanted,
    graceMs: 0,
  });
  const { code, message } = await joining.then(
    () => ({ code: 'joined', message: '' }),
    (fault: Fault) => fault,
  );
  said = message;
  return { starts, code };
}

describe('an instance that connect starts', () => {
  it('and that is ended before it listens is started again until the time is over #one-instance', async () => {
    const hurried = () => ({ clock: hurriedClock(), maxLooks: Number.POSITIVE_INFINITY });
    const log = join(folder, 'instance.log');
    for (const [end, why] of [
      [{ code: null, signal: 'SIGKILL' }, `its process was ended by SIGKILL; see ${log}`],
      [{ code: 0, signal: null }, `see ${log}`],
      [{ code: 3, signal: null }, `see ${log}`],
    ] as const) {
      // With pauses of 50 ms to 2 s, within 30 s.
      expect(await startsThatEnd([end], hurried())).toEqual({ starts: 20, code: 'unavailable' });
      expect(said).toBe(`no instance of /holdfast.json could be started: ${why}`);
    }
    const ends = [
      { code: null, signal: 'SIGKILL' as const },
      { code: 0, signal: null },
      { code: 143, signal: null },
      { code: 2, signal: null },
    ];
    expect(await startsThatEnd(ends, hurried())).toEqual({ starts: 4, code: 'unavailable' });
  });

  const failed = [{ code: 2, signal: null }];
  const begun = async (facts: Partial<LockHolder>) => {
    const self = { ...(await ownHolder('1', Date.now())), ...facts };
    const attempt = await takeLock(folder, self, async () => false);
    if (attempt.kind !== 'taken') throw new Error('it is held');
    return attempt.lock;
  };
  const ended = async (end: Partial<LockEnd>) => {
    const facts = { endedAt: Date.now() - 3_000, isAsked: false, startedBy: null };
    await (await begun({})).release({ ...facts, ...end });
  };

  it('is left to whoever has ended the former, unless a request waits #one-instance', async () => {
    await ended({ isAsked: true });
    expect(await startsThatEnd(failed, { isWanted: false })).toEqual({
      starts: 0,
      code: 'cancelled',
    });
    expect(await startsThatEnd(failed)).toMatchObject({ starts: 1 });
    await ended({});
    expect(await startsThatEnd(failed, { isWanted: false })).toMatchObject({ starts: 1 });
  });

  it('is left for a moment to a serve that is started again #one-instance', async () => {
    const clock = hurriedClock();
    await ended({ startedBy: 'serve', endedAt: clock.wallNow() });
    // 40 looks are a second of this clock, however long they take.
    expect(await startsThatEnd(failed, { clock })).toMatchObject({ starts: 0 });
    await ended({ startedBy: 'serve' });
    expect(await startsThatEnd(failed)).toMatchObject({ starts: 1 });
  });

  it('waits for one of another container that says that it ends, for a minute #one-instance', async () => {
    await begun({ pidNamespace: '1', isEnding: true });
    expect(await startsThatEnd(failed)).toMatchObject({ starts: 0 });
    const longAgo = Date.now() / 1000 - 120;
    lutimesSync(join(folder, 'lock.1'), longAgo, longAgo);
    expect(await startsThatEnd(failed)).toMatchObject({ starts: 1 });
  });

  it('and that ends by itself, or cannot be started, is not', async () => {
    expect(await startsThatEnd([{ code: 2, signal: null }])).toMatchObject({ starts: 1 });
    const error = 'ENOENT';
    expect(await startsThatEnd([{ code: null, signal: null, error }])).toMatchObject({ starts: 1 });
  });

  it('and that fails is reported with what it has said itself, or the error of the system #command-line', async () => {
    const log = join(folder, 'instance.log');
    const reported = async (end: FakeEnd) => {
      await startsThatEnd([end]);
      return said.slice(said.lastIndexOf('started: ') + 9);
    };
    writeFileSync(log, 'holdfast: an old failure\n');
    expect(await reported({ code: 2, signal: null })).toBe(`see ${log}`);
    const says = 'holdfast: one\nholdfast: the port is taken\n';
    expect(await reported({ code: 2, signal: null, says })).toBe('holdfast: the port is taken');
    // The line is that of an earlier start now.
    expect(await reported({ code: 2, signal: null })).toBe(`see ${log}`);
    expect(await reported({ code: null, signal: null, error: 'EAGAIN' })).toBe(
      'its process could not be created (EAGAIN)',
    );
  });
});

describe('an instance that takes no connection', () => {
  /** Those of the first ones it ends without an answer; how many there were. */
  async function listening(refused: number): Promise<() => number> {
    let count = 0;
    const sockets = new Set<Socket>();
    const identity = {
      program: '1',
      instance: 'x',
      keepsKeys: false,
      startedBy: 'serve',
      pid: process.pid,
    };
    const server = createServer((socket) => {
      count += 1;
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      if (count <= refused) return void socket.destroy();
      socket.once('data', (line) => {
        const said: unknown = JSON.parse(line.toString('utf8'));
        socket.write(`${JSON.stringify(welcomeFor(said, identity, undefined).welcome)}\n`);
      });
    });
    await new Promise<void>((resolve) => server.listen(join(folder, 'control.sock'), resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return () => count;
  }

  it('is looked for again: the next one does #one-instance', async () => {
    const connections = await listening(6);
    expect(await startsThatEnd([{ code: 2, signal: null }])).toEqual({ starts: 0, code: 'joined' });
    expect(connections()).toBeGreaterThan(6);
  });
});
