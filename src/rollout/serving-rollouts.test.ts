// What a gateway is told of rollouts, with real files and a played holder.

import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { until } from '../../test/support/until.ts';
import { installedAtStart } from './installed-files.ts';
import { ServingRollouts } from './serving-rollouts.ts';

let root = '';
let main = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-rollouts-'));
  main = join(root, 'dist', 'cli', 'main.js');
  mkdirSync(join(root, 'dist', 'cli'), { recursive: true });
  for (const file of [main, join(root, 'package.json')]) writeFileSync(file, '{}');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function rollouts({ isAuto = false, hasHolder = true, installed = installedAtStart(main) } = {}) {
  const clock = new ManualClock();
  const started: number[] = [];
  const settings = { isAuto };
  const holder = {
    pid: 1,
    startSuccessor: async (run: number) => {
      started.push(run);
      return { kind: 'refused', detail: 'no permission to execute it' } as const;
    },
    abandon: async () => 'ended' as const,
  };
  const handOver = {
    prepare: async () => [],
    fence: async () => {
      throw new Error('never');
    },
    former: () => {},
    giveUp: () => {},
  };
  const serving = new ServingRollouts({
    clock,
    installed,
    isAuto: () => settings.isAuto,
    origin: { program: '1.0.0', instance: 'one' },
    hands: hasHolder ? { holder, handOver } : undefined,
    report: () => {},
    lost: () => {},
    caught: (error) => {
      throw error;
    },
  });
  serving.serving();
  return { clock, started, settings, serving };
}

describe('the rollouts of a serving process', () => {
  it('are stable until other files are installed, which is shown at once and watched by nobody', () => {
    const { serving, clock } = rollouts();
    expect(serving.read()).toEqual({
      phase: 'stable',
      ...{ cause: null, at: null, count: 0, generation: 1, launchPathStable: true },
    });
    utimesSync(main, 1, 1);
    expect(serving.read()).toMatchObject({
      phase: 'pending',
      cause: expect.stringContaining('holdfast rollout'),
    });
    expect(clock.pending).toBe(0);
    rmSync(main);
    expect(serving.read()).toMatchObject({ phase: 'pending', launchPathStable: false });
  });

  it('say why the last one has failed, and when', async () => {
    const { serving, clock } = rollouts();
    const asked = serving.ask();
    expect(await asked).toMatchObject({ kind: 'failed', cause: { reason: 'start' } });
    const at = clock.wallNow();
    await clock.advanceAsync(5_000);
    expect(serving.read()).toMatchObject({
      ...{ phase: 'failed', cause: 'no permission to execute it', at },
    });
  });

  it('begin by themselves when the config says so, also when it says so later', async () => {
    const { serving, clock, started, settings } = rollouts();
    // The first look has to be over: it says what runs.
    await serving.ask();
    started.length = 0;
    utimesSync(main, 1, 1);
    settings.isAuto = true;
    serving.policyChanged();
    const isStarted = async () => {
      await clock.advanceAsync(100);
      return started.length > 0;
    };
    await until(isStarted, 'a successor is started');
    expect(started).toHaveLength(1);
  });

  it('begin also for what was installed after this process was started and before it could watch', async () => {
    const installed = installedAtStart(main);
    await installed.look;
    utimesSync(main, 1, 1);
    const { clock, started } = rollouts({ isAuto: true, installed });
    const isStarted = async () => {
      await clock.advanceAsync(100);
      return started.length > 0;
    };
    await until(isStarted, 'a successor is started');
  });

  it('are refused without a holder', async () => {
    const { serving } = rollouts({ hasHolder: false });
    expect(await serving.ask()).toEqual({ kind: 'refused', why: 'no_holder' });
    expect(serving.read().phase).toBe('stable');
  });
});
