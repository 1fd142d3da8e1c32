// The key of an instance and the connections between its processes, over a played link.

import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { playedLinks } from '../../../test/support/played-links.ts';
import { until } from '../../../test/support/until.ts';
import { keyFrom, Neighbours } from './neighbours.ts';

const caught = (error: unknown) => {
  throw error;
};

describe('processes of one instance', () => {
  it('have the same key and other names, and reach each other #rollout', async () => {
    const clock = new ManualClock();
    using one = new Neighbours({ clock, caught });
    const [toOther, toOne] = playedLinks();
    one.giveKey(toOther);
    const key = await keyFrom(toOne);
    using other = new Neighbours({ clock, caught, key });
    expect(other.replica.key).toEqual(one.replica.key);
    expect(other.replica.id).not.toBe(one.replica.id);
    one.join(toOther, 'successor');
    other.join(toOne, 'former');
    let got: Duplex | undefined;
    one.serve(() => {});
    other.serve((connection) => {
      got = connection;
    });
    one.leave();
    const connected = await one.tunnels.connectAny();
    expect(typeof connected).toBe('object');
    expect(got).toBeDefined();
    expect(await other.tunnels.connect(one.replica.id)).toMatchObject({ isEnding: true });
    toOne.end();
    expect(await other.tunnels.connect(one.replica.id)).toBe('absent');
  });

  it('read what was sent to its end, also when that comes with the word that there is no more #rollout', async () => {
    const clock = new ManualClock();
    using older = new Neighbours({ clock, caught });
    using newer = new Neighbours({ clock, caught, key: older.replica.key });
    const [toNewer, toOlder] = playedLinks();
    /** What has come to the newer one in one turn, as it does when that one is busy. */
    const held: (() => void)[] = [];
    let isBusy = false;
    const busy = {
      ...{ send: toOlder.send.bind(toOlder), closed: toOlder.closed, isOpen: true },
      on: (kind: string, heard: (head: unknown, payload: Buffer) => void) =>
        toOlder.on(kind, (head, payload) => {
          if (isBusy) held.push(() => heard(head, payload));
          else heard(head, payload);
        }),
    };
    older.join(toNewer, 'successor');
    newer.join(busy, 'former');
    const accepted: Duplex[] = [];
    older.serve((connection) => void accepted.push(connection));
    const connected = await newer.tunnels.connect(older.replica.id);
    if (typeof connected === 'string') throw new Error(connected);
    isBusy = true;
    (accepted[0] as Duplex & { destroySoon(): void }).write('answer');
    (accepted[0] as Duplex & { destroySoon(): void }).destroySoon();
    await until(() => older.tunnels.size === 0, 'its end');
    // The newer one asks whether the other one still has it.
    clock.advance(2_000);
    await until(() => held.length === 3, 'the bytes, the end and the answer to that');
    for (const one of held) one();
    let got = '';
    for await (const bytes of connected.connection) got += bytes;
    expect(got).toBe('answer');
  });

  it('do not begin without the key #rollout', async () => {
    const [one, other] = playedLinks();
    const asked = keyFrom(other);
    one.end();
    await expect(asked).rejects.toMatchObject({ code: 'internal' });
    const [short, long] = playedLinks();
    short.send('key', {}, Buffer.alloc(31));
    await expect(keyFrom(long)).rejects.toMatchObject({ code: 'internal' });
  });
});
