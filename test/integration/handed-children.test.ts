// A child goes from one serving process to the next: its pid, its pipes and what was in them stay, and its exit is
// told once, to the one that has it. The holder is in this process; the serving processes run a fixture.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { Holder } from '../../src/rollout/holder/holder.ts';
import type { HeldExit } from '../../src/rollout/holder/messages.ts';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import { until } from '../support/until.ts';

const table = systemProcesses();
const program = new URL('../fixtures/processes/serving.mjs', import.meta.url).pathname;
/** It says one line in two parts, and answers one line. */
const script =
  'printf \'half \'; read -r a; printf \'line %s\\n\' "$a"; read -r b; echo "then $b"; exit 7';

interface Note {
  readonly who: string;
  readonly kind: string;
  /** Of the one who writes. */
  readonly own: number;
  readonly pid?: number;
  readonly text?: string;
  readonly exit?: unknown;
  readonly code?: unknown;
}

interface Run {
  readonly holder: Holder;
  readonly ended: Promise<HeldExit>;
  readonly said: string[];
  notes(): Promise<readonly Note[]>;
  noted(kind: string, who?: string): Promise<Note>;
}

async function running(mode: string): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-handed-'));
  const file = join(folder, 'notes');
  const plan = JSON.stringify({ command: ['/bin/sh', '-c', script], mode });
  const said: string[] = [];
  const holder = new Holder({
    clock: systemClock,
    table,
    file: program,
    args: [file, plan],
    startsAgain: true,
    complain: (text) => void said.push(text),
  });
  const ended = holder.run();
  onTestFinished(async () => {
    holder.signal('SIGTERM');
    await ended;
    await holder.close();
    await rm(folder, { recursive: true });
  });
  const notes = async () => {
    const text = await readFile(file, 'utf8').catch(() => '');
    const lines = text.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Note);
  };
  const noted = async (kind: string, who?: string) => {
    let found: Note | undefined;
    await until(
      async () => {
        const all = await notes();
        found = all.find((one) => one.kind === kind && (who === undefined || one.who === who));
        return found !== undefined;
      },
      `${who ?? 'somebody'} notes ${kind}`,
    );
    return found as Note;
  };
  return { holder, ended, said, notes, noted };
}

const textOf = (notes: readonly Note[]) =>
  notes.flatMap(({ kind, text = '' }) => (kind === 'stdout' ? [text] : [])).join('');

describe('a child that is handed over', () => {
  it('keeps its pid and every byte, and its exit is told once, to the successor #rollout', async () => {
    const { ended, notes, noted } = await running('hand-over');
    expect(await ended).toEqual({ code: 0, signal: null });
    const all = await notes();
    const [started, adopted] = [await noted('started'), await noted('adopted')];
    expect(adopted.pid).toBe(started.pid);
    expect(adopted.own).not.toBe(started.own);
    expect(textOf(all)).toBe('half line x\nthen y\n');
    expect(textOf(all.filter(({ who }) => who === 'first 1'))).toBe('half ');
    const exits = all.filter(({ kind }) => kind === 'exited');
    expect(exits).toMatchObject([{ who: 'successor', exit: { code: 7, signal: null } }]);
    // The former ended with another code before that.
    expect(await noted('former')).toMatchObject({ own: started.own });
  });

  it('ends when the successor dies, and another serving process begins anew #pid-holder', async () => {
    const { ended, holder, noted, said } = await running('lose');
    const { pid = 0, own } = await noted('adopted');
    await noted('former');
    process.kill(own, 'SIGKILL');
    const again = await noted('started', 'first 3');
    expect(again.pid).not.toBe(pid);
    await until(async () => (await table.find(pid)) === null, 'the child has ended');
    expect(said).toEqual([expect.stringContaining('has died (SIGKILL); another is started')]);
    holder.signal('SIGTERM');
    expect(await ended).toMatchObject({ code: 0 });
  });

  it('is all that is left of its former: what that still had ends with it #pid-holder', async () => {
    const { ended, noted } = await running('leave-behind');
    expect(await ended).toEqual({ code: 0, signal: null });
    await noted('former');
    const { pid = 0 } = await noted('kept');
    await until(async () => (await table.find(pid)) === null, 'the child has ended');
  });

  it('stays with its serving process when the successor is given up #rollout', async () => {
    const { ended, holder, noted, notes } = await running('abandon');
    expect(await noted('successor-ended')).toMatchObject({ who: 'first 1' });
    const { pid = 0 } = await noted('started');
    expect(await table.find(pid)).not.toBeNull();
    expect((await notes()).filter(({ kind }) => kind === 'exited')).toEqual([]);
    holder.signal('SIGTERM');
    expect(await ended).toMatchObject({ code: 0 });
  });
});
