// The key of an instance and the connections between its processes, over a played link.

import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { playedLinks } from '../../../test/support/played-links.ts';
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
