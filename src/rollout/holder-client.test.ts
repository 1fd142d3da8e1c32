import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { RawHandle } from './holder/raw-handle.ts';
import { type Channel, holderOf } from './holder-client.ts';

class PlayedChannel extends EventEmitter {
  readonly pid = 2;
  readonly ppid = 1;
  readonly env: NodeJS.ProcessEnv;
  readonly said: { readonly op: string; readonly ask?: number; readonly id?: number }[] = [];

  constructor(introduction: string) {
    super();
    this.env = { HOLDFAST_HOLDER: introduction };
  }

  send(message: never): boolean {
    this.said.push(message);
    return true;
  }

  kill(): true {
    return true;
  }
}

function world(introduction = '1:2:0123456789abcdef:first') {
  const channel = new PlayedChannel(introduction);
  const holder = holderOf(channel as unknown as Channel);
  if (holder === undefined) throw new Error('there is a holder');
  const closed: string[] = [];
  const handle = (name: string): RawHandle => ({ close: () => void closed.push(name) });
  return { channel, holder, closed, handle };
}

const plan = { line: ['/bin/true'], env: {}, cwd: '/', hasReport: false };

describe('a process that the holder has started', () => {
  it.each(['start', 'take'] as const)(
    'is given up if its pipes do not all reach this one, on %s #no-orphans',
    async (how) => {
      const { channel, holder, closed, handle } = world();
      const started = how === 'start' ? holder.start(plan) : holder.take(7);
      for (const name of ['stdin', 'stdout']) {
        channel.emit('message', { op: 'handle', ask: 1 }, handle(name));
      }
      channel.emit('message', { op: 'answer', ask: 1, value: { id: 7, pid: 70 } });
      await expect(started).rejects.toMatchObject({ code: 'EMFILE' });
      expect(closed).toEqual(['stdin', 'stdout']);
      expect(channel.said.at(-1)).toEqual({ op: 'dropped', id: 7 });
    },
  );
});

describe('how many earlier processes still work', () => {
  it('is told also to whoever listens later #rollout', () => {
    const { channel, holder } = world();
    channel.emit('message', { op: 'formers', count: 4 });
    const counts: number[] = [];
    holder.listen({ formers: (count) => void counts.push(count) });
    channel.emit('message', { op: 'formers', count: 3 });
    expect(counts).toEqual([4, 3]);
  });
});

describe('a holder of another version', () => {
  it('cannot start this one', () => {
    expect(() => world('2:2:0123456789abcdef:first')).toThrow('cannot be started by the running');
  });
});
