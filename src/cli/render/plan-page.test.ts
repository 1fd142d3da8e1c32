import { describe, expect, it } from 'vitest';
import { planLines } from './plan-page.ts';

const plan = {
  added: ['new'],
  removed: ['old'],
  changed: [
    { name: 'a', keys: ['queue'], restart: false },
    { name: 'b', keys: ['args', 'env'], restart: true },
  ],
  settings: [
    { key: 'maxIdle', applies: 'live' },
    { key: 'naming', applies: 'restart-host' },
  ],
  order: false,
  failed: [],
  disabled: [{ name: 'off', cause: 'switched off' }],
} as const;

describe('the plan of a changed config', () => {
  it('says what will be done, or what was done', () => {
    expect(planLines({ ...plan, isDone: false })).toEqual([
      'new: will be added',
      'old: will be removed',
      'a: will change (queue)',
      'b: will be restarted (args, env)',
      'maxIdle: will change',
      'naming: needs a new start of holdfast serve',
      'off: disabled, switched off',
    ]);
    expect(planLines({ ...plan, isDone: true }).slice(0, 5)).toEqual([
      'new: added',
      'old: removed',
      'a: changed (queue)',
      'b: restarted (args, env)',
      'maxIdle: changed',
    ]);
  });

  it('says what is started again although an operator has stopped it', () => {
    const before = { wasRunning: () => false, wasStopped: () => true };
    expect(planLines({ ...plan, isDone: true }, before).slice(2, 4)).toEqual([
      'a: changed (queue)',
      'b: changed (args, env); it is started again: it is not lazy',
    ]);
    expect(planLines({ ...plan, isDone: false }, before)[3]).toBe(
      'b: will change (args, env); it will be started again: it is not lazy',
    );
    const lazy = [{ name: 'b', keys: ['args', 'lazy'], restart: true }];
    expect(planLines({ ...plan, changed: lazy, isDone: true }, before)[2]).toBe(
      'b: changed (args, lazy)',
    );
  });

  it('says so if there is nothing', () => {
    const none = { ...plan, added: [], removed: [], changed: [], settings: [], disabled: [] };
    expect(planLines({ ...none, isDone: true })).toEqual(['nothing has changed']);
    expect(planLines({ ...none, order: true, isDone: true })).toEqual([
      'only the order of the servers differs',
    ]);
  });
});
