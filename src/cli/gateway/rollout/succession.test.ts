// When a process that was replaced may end: nothing is left in it or before it, what goes through it has been delivered, and
// the next process has read its last words. The link is a real one, over a pair of streams in memory.

import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { linkPair } from '../../../../test/support/link-pair.ts';
import { ManualClock, settled } from '../../../../test/support/manual-clock.ts';
import { until } from '../../../../test/support/until.ts';
import { ignored } from '../../../kernel/contain.ts';
import { keyFrom, Neighbours } from '../neighbours.ts';
import { type Given, Succession } from './succession.ts';

const caught = (error: unknown) => {
  throw error;
};

/** A process that has been replaced, with what `given` says is left in it, and the one that serves. */
async function replacedProcess(given: (succession: Succession) => Given) {
  const clock = new ManualClock();
  const holder = { isSuccessor: false, listen: ignored } as never;
  const parts = { holder, clock, program: '1', caught, progress: ignored };
  const former = await Succession.open(parts);
  const counts: unknown[] = [];
  const host = {
    handOver: () => Promise.resolve({ state: {}, payload: Buffer.alloc(0) }),
    handOverSpent: ignored,
    takeCounts: () => ({ calls: 1 }),
  };
  former.restore(host as never, {} as never);
  former.add({ give: () => given(former) });
  const pair = linkPair();
  await former.fence(pair.one);
  const key = await keyFrom(pair.other);
  const next = new Neighbours({ clock, caught, key });
  next.join(pair.other, 'former');
  pair.other.on('counts', (head) => counts.push(head));
  let isReplaced = false;
  const replaced = former.replaced.then(() => {
    isReplaced = true;
  });
  former.former(pair.one);
  const { id } = former.neighbours.replica;
  return { former, next, pair, id, counts, replaced, isReplaced: () => isReplaced };
}

describe('a process that was replaced', () => {
  it('ends when everything that goes through it has been delivered #rollout', async () => {
    const accepted: Duplex[] = [];
    let nothingIsLeft = ignored;
    const ended = new Promise<void>((resolve) => {
      nothingIsLeft = resolve;
    });
    const { next, id, counts, isReplaced, replaced } = await replacedProcess(({ neighbours }) => {
      neighbours.serve((connection) => void accepted.push(connection.resume()));
      return { ended, last: () => neighbours.tunnels.finish() };
    });
    const asked = await next.tunnels.connect(id);
    await until(() => accepted.length === 1, 'the tunnel');
    nothingIsLeft();
    await settled();
    expect(isReplaced()).toBe(false);
    if (typeof asked === 'string') throw new Error(asked);
    let got = '';
    asked.connection.on('data', (bytes) => {
      got += bytes;
    });
    accepted[0]?.end('answer');
    await until(() => got === 'answer', 'the answer');
    expect({ isReplaced: isReplaced(), counts }).toEqual({ isReplaced: false, counts: [] });
    asked.connection.end();
    await replaced;
    await until(() => counts.length === 1, 'the counts');
  });

  it('is there until the next one has read its last words #rollout', async () => {
    const none = () => ({ ended: Promise.resolve() });
    const { former, pair, counts, replaced } = await replacedProcess(none);
    await replaced;
    await former.lastWords();
    expect(counts).toEqual([{ calls: 1 }]);
    expect([pair.one.fault, pair.other.fault]).toEqual([undefined, undefined]);
  });
});
