// The faults that a test can ask for: which operation they wait for, and that they come once.

import { describe, expect, it } from 'vitest';
import { settled } from '../../../test/support/manual-clock.ts';
import type { ObservedCall } from '../../host/call/call-observer.ts';
import { localUser } from '../../policy/principal.ts';
import { testHooks } from './test-hooks.ts';

function hooks(env: Readonly<Record<string, string>>) {
  const said: string[] = [];
  const observer = testHooks(env, {
    used: (name) => said.push(`used ${name}`),
    crash: () => said.push('crash'),
    rollOut: () => said.push('roll out'),
  });
  const ended = async (method: string, server: string | null, name: string | null) => {
    const operation = { method, name } as ObservedCall['request']['operation'];
    const request = { principal: localUser, server, operation };
    const call = { request, startedAt: 0, attempts: 1, replays: 0, generation: 1 };
    observer?.ended?.(call, 'ok', undefined);
    await settled();
  };
  return { observer, said, ended };
}

describe('a hook for tests', () => {
  it('is not there unless its variable is set', () => {
    expect(hooks({}).observer).toBeUndefined();
    expect(hooks({ HOLDFAST_TEST_CRASH_ONCE: '' }).observer).toBeUndefined();
  });

  it('ends the process at its operation, once, after the holder was told', async () => {
    const { said, ended } = hooks({ HOLDFAST_TEST_CRASH_ONCE: 'tools/call:files/read' });
    await ended('tools/call', 'files', 'write');
    await ended('tools/list', null, null);
    expect(said).toEqual([]);
    await ended('tools/call', 'files', 'read');
    await ended('tools/call', 'files', 'read');
    expect(said).toEqual(['used HOLDFAST_TEST_CRASH_ONCE', 'crash']);
  });

  it('rolls after its operation, which may be a method or a tool of ours', async () => {
    const listed = hooks({ HOLDFAST_TEST_ROLLOUT_ONCE: 'tools/list' });
    await listed.ended('tools/list', null, null);
    await listed.ended('tools/list', null, null);
    expect(listed.said).toEqual(['used HOLDFAST_TEST_ROLLOUT_ONCE', 'roll out']);
    const own = hooks({ HOLDFAST_TEST_ROLLOUT_ONCE: 'tools/call:holdfast/health_snapshot' });
    await own.ended('tools/call', null, 'health_snapshot');
    expect(own.said).toHaveLength(2);
  });
});
