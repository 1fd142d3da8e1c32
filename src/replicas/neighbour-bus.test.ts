// Messages and requests along a row of processes that have replaced each other.

import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { playedLinks } from '../../test/support/played-links.ts';
import { until } from '../../test/support/until.ts';
import { NeighbourBus } from './neighbour-bus.ts';

const text = (body: Uint8Array) => Buffer.from(body).toString();
const bytes = (words: string) => Buffer.from(words);

function row(count: number) {
  const clock = new ManualClock();
  const caught = (error: unknown) => {
    throw error;
  };
  const buses = Array.from({ length: count }, () => new NeighbourBus({ clock, caught }));
  const links = buses.slice(1).map((newer, at) => {
    const [toOlder, toNewer] = playedLinks();
    newer.join(toOlder, 'former');
    buses[at]?.join(toNewer, 'successor');
    return toOlder;
  });
  return { clock, links, buses: buses as [NeighbourBus, NeighbourBus, NeighbourBus] };
}

describe('the bus along a row of processes', () => {
  it('brings a message to everybody, once, and a request to whoever listens', async () => {
    const { buses } = row(3);
    const [oldest, middle, newest] = buses;
    const heard: string[] = [];
    for (const [at, bus] of buses.entries()) {
      bus.subscribe('hf.taken.*', ({ subject, body }) =>
        heard.push(`${at} ${subject} ${text(body)}`),
      );
    }
    oldest.subscribe('hf.open.old', ({ body, answer }) => answer(bytes(`old ${text(body)}`)));
    newest.subscribe('hf.open.new', ({ body, answer }) => answer(bytes(`new ${text(body)}`)));
    expect(text(await newest.ask('hf.open.old', bytes('1'), 1_000))).toBe('old 1');
    expect(text(await oldest.ask('hf.open.new', bytes('2'), 1_000))).toBe('new 2');
    expect(text(await middle.ask('hf.open.old', bytes('3'), 1_000))).toBe('old 3');
    middle.publish('hf.taken.x', bytes('yes'));
    await until(() => heard.length === 3, 'everybody to hear it');
    expect(heard.sort()).toEqual([0, 1, 2].map((at) => `${at} hf.taken.x yes`));
  });

  it('asks the newer ones first', async () => {
    const { buses } = row(3);
    const [oldest, middle, newest] = buses;
    for (const [name, bus] of [
      ['old', oldest],
      ['new', newest],
    ] as const) {
      bus.subscribe('hf.open', ({ answer }) => answer(bytes(name)), 'replicas');
    }
    expect(text(await middle.ask('hf.open', bytes(''), 1_000))).toBe('new');
  });

  it('brings an answer after the messages that were sent before it', async () => {
    const { buses } = row(3);
    const [oldest, , newest] = buses;
    const heard: string[] = [];
    newest.subscribe('hf.frame', ({ body }) => heard.push(text(body)));
    oldest.subscribe('hf.open.old', ({ answer }) => {
      oldest.publish('hf.frame', bytes('before'));
      answer(bytes('answer'));
      oldest.publish('hf.frame', bytes('after'));
    });
    const asked = newest.ask('hf.open.old', bytes(''), 1_000);
    heard.push(text(await asked));
    await until(() => heard.length === 3, 'all of it');
    expect(heard).toEqual(['before', 'answer', 'after']);
  });

  it('says that a process is gone after the messages that it has sent', async () => {
    const { buses, links } = row(2);
    const [older, newer] = buses;
    const heard: string[] = [];
    newer.subscribe('hf.frame', ({ body }) => heard.push(text(body)));
    older.subscribe('hf.open.old', () => {
      older.publish('hf.frame', bytes('last'));
      // In the turn in which that arrives.
      setImmediate(() => links[0]?.end());
    });
    await expect(newer.ask('hf.open.old', bytes(''), 1_000)).rejects.toMatchObject({
      reason: 'absent',
    });
    expect(heard).toEqual(['last']);
  });

  it('says at once that nobody is there, also when a process goes while it is asked', async () => {
    const { buses, links, clock } = row(3);
    const [oldest, , newest] = buses;
    await expect(oldest.ask('hf.open.gone', bytes(''), 1_000)).rejects.toMatchObject({
      reason: 'absent',
    });
    newest.subscribe('hf.open.silent', () => {});
    const asked = oldest.ask('hf.open.silent', bytes(''), 1_000);
    const late = oldest.ask('hf.open.silent', bytes(''), 500);
    const refused = expect(late).rejects.toMatchObject({ reason: 'late' });
    clock.advance(500);
    await refused;
    links[1]?.end();
    await expect(asked).rejects.toMatchObject({ reason: 'absent' });
  });
});
