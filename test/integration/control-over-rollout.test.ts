// The control socket when another process of the instance takes it over: both listen in this process. What a command
// asks at that moment is not lost.

import { describe, expect, it, onTestFinished } from 'vitest';
import { ControlClient, join } from '../../src/instance/control-client.ts';
import { ControlServer } from '../../src/instance/control-server.ts';
import { systemClock as clock } from '../../src/kernel/system-clock.ts';
import { temporaryFolder } from '../support/faulty.ts';

async function process(path: string, name: string) {
  const server = await ControlServer.open({
    ...{ path, clock },
    identity: async () => ({
      ...{ program: '1', instance: 'one', pid: 1, keepsKeys: false, startedBy: 'serve' },
    }),
    operations: { status: async () => name } as never,
    serveClient: (socket) => void socket.end(),
    caught: (error) => {
      throw error;
    },
    outgoing: { share: () => undefined } as never,
    variables: () => undefined,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

const joins = (path: string) => () => join({ path, clock, program: '1', as: 'operator' });

async function client(path: string): Promise<ControlClient> {
  const connected = await joins(path)();
  if (connected === undefined) throw new Error('nobody listens');
  return new ControlClient(connected, joins(path));
}

describe('an operator whose process hands over', () => {
  it('is answered by the next, whenever it asks #rollout', async () => {
    await using folder = await temporaryFolder();
    const path = folder.file('control.sock');
    const first = await process(path, 'first');
    const [asks, idle] = [await client(path), await client(path)];
    expect(await asks.ask({ ask: 'status' })).toBe('first');
    // As with the holder, somebody listens there all the time.
    await process(path, 'next');
    const leaving = first.handOver();
    const asked = asks.ask({ ask: 'status' });
    expect(await asked).toBe('next');
    await leaving;
    expect(await idle.ask({ ask: 'status' })).toBe('next');
    for (const one of [asks, idle]) one[Symbol.dispose]();
  });
});
