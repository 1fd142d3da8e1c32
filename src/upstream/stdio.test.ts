import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../test/support/manual-clock.ts';
import { ScriptedChild, ScriptedServer } from '../../test/support/scripted-server.ts';
import { Fault } from '../kernel/fault.ts';
import type { Child } from '../supervise/child.ts';
import { connectStdio, type StdioParts } from './stdio.ts';

const spec = {
  name: 'files',
  command: 'files',
  args: [],
  env: {},
  inheritEnv: [],
  cwd: '/',
  memoryMb: null,
  processes: null,
};

function connecting(spawn: StdioParts['spawn'], signal: AbortSignal) {
  const parts: StdioParts = {
    server: 'files',
    spec,
    frameBytes: 10_000,
    spawn,
    clock: manualClock(),
    identity: { name: 'holdfast', version: '0' },
    capabilities: '{}',
    first: 'modern',
    eras: { known: async () => ({}), learn: () => {}, kept: async () => {} },
  };
  return connectStdio(parts, 1, signal, {
    lost: () => {},
    lastWords: () => {},
    notification: () => {},
    asked: () => {},
    noise: () => {},
  });
}

describe('a connection on stdio that is given up while its process is being made', () => {
  it('ends the process as soon as it is there #generations', async () => {
    const stop = new AbortController();
    const server = new ScriptedServer();
    let arrive: ((child: Child) => void) | undefined;
    let child: ScriptedChild | undefined;
    const opening = connecting((_spec, listener) => {
      child = new ScriptedChild(7, server, listener);
      return new Promise((resolve) => {
        arrive = resolve;
      });
    }, stop.signal);
    await settled();
    stop.abort(new Fault('unavailable', 'files was stopped'));
    if (child) arrive?.(child);
    await expect(opening).rejects.toMatchObject({ message: 'files was stopped' });
    expect(child?.isGone).toBe(true);
    expect(child?.heard).toEqual([]);
  });
});
