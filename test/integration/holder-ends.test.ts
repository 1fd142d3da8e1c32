// What ends a gateway below its pid-holder, and what does not: signals at moments in which nobody hears them, serving
// processes that hang or end without a word, and a program that may not be started. The holder is in this process, on
// a clock of the test; the serving processes do what a plan says.

import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ignored } from '../../src/kernel/contain.ts';
import { Holder } from '../../src/rollout/holder/holder.ts';
import type { HeldExit } from '../../src/rollout/holder/messages.ts';
import { systemProcesses } from '../../src/supervise/process/watch/system-processes.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';

type Step = 'wait' | 'exit' | { readonly op: string; readonly [field: string]: unknown };
type Plan = Readonly<Partial<Record<'first' | 'again' | 'successor', readonly Step[]>>>;

interface Note {
  readonly who: string;
  readonly own: number;
  readonly kind: string;
  readonly op?: string;
}

const serves = [{ op: 'hello' }, { op: 'serving' }] as const;
const rolls = [...serves, { op: 'successor', ask: 1 }] as const;
/** Its answer shows that what was said before was heard. */
const asks = { op: 'listener', ask: 2, name: 'none' } as const;
const claims = [{ op: 'hello' }, { op: 'claim', ask: 1 }] as const;

async function running(plan: Plan) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-holder-'));
  const file = join(folder, 'notes');
  const program = join(folder, 'says.mjs');
  await copyFile(new URL('../fixtures/processes/says.mjs', import.meta.url), program);
  const clock = new ManualClock();
  const said: string[] = [];
  let exit: HeldExit | undefined;
  const holder = new Holder({
    clock,
    table: systemProcesses(),
    file: program,
    args: [file, JSON.stringify({ first: serves, again: serves, ...plan })],
    startsAgain: true,
    complain: (text) => void said.push(text),
  });
  const ended = holder.run();
  const learn = (how: HeldExit) => {
    exit = how;
  };
  ended.then(learn).catch(ignored);
  const notes = async () => {
    const text = await readFile(file, 'utf8').catch(() => '');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Note);
  };
  const noted = async (who: number, kind: string, op?: string) => {
    let found: Note | undefined;
    const isIt = (one: Note) => one.who === `${who}` && one.kind === kind && (!op || one.op === op);
    const look = async () => {
      found = (await notes()).find(isIt);
      return found !== undefined;
    };
    await until(look, `${who} notes ${kind} ${op ?? ''}`);
    return found as Note;
  };
  const go = (who: number) => writeFile(`${file}.${who}`, '');
  const complained = (text: string) => until(() => said.some((one) => one.includes(text)), text);
  const kill = async (who: number) => process.kill((await noted(who, 'started')).own, 'SIGKILL');
  onTestFinished(async () => {
    await holder.close();
    await rm(folder, { recursive: true });
  });
  return { holder, clock, ended, exit: () => exit, program, noted, notes, go, complained, kill };
}

describe('SIGHUP is a rollout and never the end', () => {
  it('between two serving processes: the next one is started from the files that are there #rollout', async () => {
    const { holder, clock, noted, kill, complained, exit } = await running({});
    await noted(1, 'stays');
    await kill(1);
    await complained('another is started');
    holder.hangup();
    clock.advance(0);
    await noted(2, 'stays');
    expect(exit()).toBeUndefined();
  });

  it('while the next serving process is loaded #rollout', async () => {
    const { holder, clock, noted, kill, complained, go } = await running({
      again: ['wait', ...serves],
    });
    await noted(1, 'stays');
    await kill(1);
    await complained('another is started');
    clock.advance(0);
    await noted(2, 'started');
    holder.hangup();
    await go(2);
    await noted(2, 'heard', 'hangup');
  });

  it('while a successor takes over: it hears it #rollout', async () => {
    const { holder, noted, go } = await running({
      first: rolls,
      successor: [...claims, 'wait', asks, { op: 'serving' }],
    });
    await noted(2, 'heard', 'answer');
    holder.hangup();
    await go(2);
    await noted(2, 'heard', 'hangup');
    await noted(2, 'stays');
  });

  it('and does not cut short the end of a process that is ending in order', async () => {
    const { holder, noted, go, ended } = await running({
      first: [...serves, { op: 'exiting', isInOrder: true }, asks, 'wait', 'exit'],
    });
    await noted(1, 'heard', 'answer');
    holder.hangup();
    await go(1);
    expect(await ended).toEqual({ code: 0, signal: null });
  });
});

describe('a serving process', () => {
  it('that hangs is ended by the second signal', async () => {
    const { holder, clock, noted, ended } = await running({});
    await noted(1, 'stays');
    holder.signal('SIGTERM');
    clock.advance(600_000);
    holder.signal('SIGTERM');
    clock.advance(2_000);
    expect(await ended).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('that has taken over and ends well without having served is followed by another one #rollout', async () => {
    const { clock, noted, complained, go } = await running({
      first: rolls,
      successor: [...claims, 'wait', 'exit'],
    });
    await noted(2, 'heard', 'answer');
    await go(2);
    await complained('has died (exit code 0)');
    clock.advance(0);
    await noted(3, 'stays');
  });

  it('that has taken over and hangs is followed by another one #rollout', async () => {
    const { clock, noted, complained } = await running({ first: rolls, successor: claims });
    await noted(2, 'heard', 'answer');
    clock.advance(30_000);
    await complained('has died (SIGKILL)');
    clock.advance(0);
    await noted(3, 'stays');
  });

  it('that has taken over and serves is not hurried any more', async () => {
    const { clock, noted, exit, notes } = await running({
      first: rolls,
      successor: [...claims, { op: 'serving' }, asks],
    });
    await until(
      async () =>
        (await notes()).filter(({ who, op }) => who === '2' && op === 'answer').length > 1,
      'it was heard',
    );
    clock.advance(60_000);
    process.kill((await noted(2, 'started')).own, 0);
    expect(exit()).toBeUndefined();
  });

  it('that has died is not followed by a program that others can change', async () => {
    const { clock, noted, notes, kill, complained, program, ended } = await running({});
    await noted(1, 'stays');
    await chmod(program, 0o666);
    await kill(1);
    await complained('another is started');
    clock.advance(60_000);
    await complained('can be changed by others');
    expect(await ended).toEqual({ code: 3, signal: null });
    expect((await notes()).filter(({ kind }) => kind === 'started')).toHaveLength(1);
  });
});
