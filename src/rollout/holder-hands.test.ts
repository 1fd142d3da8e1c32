// The holder's channel as a rollout uses it.

import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { holderForRollout, type ProcessExit, type RolloutChannel } from './holder-hands.ts';

function played(changes: Partial<RolloutChannel> = {}) {
  const listeners = new Set<{ readonly successorEnded: (exit: ProcessExit) => void }>();
  const said: string[] = [];
  const channel: RolloutChannel = {
    pid: 42,
    startSuccessor: async () => duplexPair()[0],
    abandon: async () => {
      said.push('abandon');
      return 'serving';
    },
    listen: (news) => {
      listeners.add(news);
      return { [Symbol.dispose]: () => void listeners.delete(news) };
    },
    ...changes,
  };
  const end = (exit: ProcessExit) => {
    for (const { successorEnded } of [...listeners]) successorEnded(exit);
  };
  return { holder: holderForRollout(channel), listeners, said, end };
}

describe('the holder of a rollout', () => {
  it.each<[ProcessExit, string]>([
    [{ code: 3, signal: null }, 'exit code 3'],
    [{ code: null, signal: 'SIGKILL' }, 'killed by SIGKILL'],
  ])('tells how a successor has ended: %j', async (exit, text) => {
    const { holder, listeners, end } = played();
    const start = await holder.startSuccessor(1);
    if (start.kind !== 'started') throw new Error('it was not started');
    end(exit);
    expect(await start.ended).toBe(text);
    expect(listeners.size).toBe(0);
  });

  it('says why there is none, and listens no more', async () => {
    const startSuccessor = () => Promise.reject(new Error('main.js is writable by others'));
    const { holder, listeners } = played({ startSuccessor });
    expect(await holder.startSuccessor(1)).toEqual({
      kind: 'refused',
      detail: 'main.js is writable by others',
    });
    expect(listeners.size).toBe(0);
  });

  it('gives up the successor of this run only', async () => {
    const { holder, said } = played();
    await holder.startSuccessor(2);
    expect(await holder.abandon(1)).toBe('ended');
    expect(said).toEqual([]);
    expect(await holder.abandon(2)).toBe('serving');
  });
});
