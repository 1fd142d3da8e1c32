import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../kernel/system-clock.ts';
import type { DetachedEnd } from '../../supervise/process/start/start-detached.ts';
import { joinOrStart } from './join-or-start.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-join-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Each instance that is started ends in this way. */
async function startsThatEnd(ends: readonly DetachedEnd[]) {
  let starts = 0;
  const joining = joinOrStart({
    place: {
      config: '/holdfast.json',
      folder,
      socket: join(folder, 'control.sock'),
      database: join(folder, 'state.db'),
    },
    clock: systemClock,
    program: '1',
    facts: () => ({ folder, pid: 1 }),
    start: async () => {
      const end = ends[Math.min(starts, ends.length - 1)] ?? { code: null, signal: null };
      starts += 1;
      return { ended: Promise.resolve(end) };
    },
    isOver: () => false,
    graceMs: 0,
  });
  const code = await joining.then(
    () => 'joined',
    ({ code }: { code: string }) => code,
  );
  return { starts, code };
}

describe('an instance that connect starts', () => {
  it('and that is killed before it listens is started again, a few times #one-instance', async () => {
    const killed = { code: null, signal: 'SIGKILL' as const };
    expect(await startsThatEnd([killed])).toEqual({ starts: 4, code: 'unavailable' });
    const failed = { code: 2, signal: null };
    expect(await startsThatEnd([killed, failed])).toEqual({ starts: 2, code: 'unavailable' });
  });

  it('and that ends by itself, or cannot be started, is not', async () => {
    expect(await startsThatEnd([{ code: 2, signal: null }])).toMatchObject({ starts: 1 });
    expect(await startsThatEnd([{ code: null, signal: null }])).toMatchObject({ starts: 1 });
  });
});
