import { describe, expect, it } from 'vitest';
import { ManualClock, settled } from '../../../test/support/manual-clock.ts';
import type { Server } from './server.ts';
import { noFacts, type StartFacts } from './start-history.ts';
import { expectedMs, placeMs, placesFor, StartPlaces } from './start-places.ts';

/** As much of a server as places look at. */
function fake(facts: Partial<StartFacts> = {}, more: object = {}) {
  const supervisor = { connection: undefined as unknown, phase: { kind: 'idle' } };
  const config = { type: 'stdio', startTimeoutMs: 30_000, ...more };
  const server = { supervisor, config, history: { facts: { ...noFacts, ...facts } } };
  return { server: server as unknown as Server, supervisor };
}

function world(places: number) {
  const clock = new ManualClock();
  const all = new StartPlaces(clock, places);
  const granted: string[] = [];
  const leave = new Map<string, () => void>();
  const enter = (name: string, { server } = fake(), isFurther = false) => {
    void all.enter(server, isFurther).then((place) => {
      granted.push(name);
      leave.set(name, () => place[Symbol.dispose]());
    });
  };
  const left = (name: string) => {
    leave.get(name)?.();
    return settled();
  };
  return { clock, all, enter, granted, left };
}

describe('places for starts that only a list needs', () => {
  it('are at least four, and two for each processor', () => {
    expect([1, 2, 4, 16].map(placesFor)).toEqual([4, 4, 8, 32]);
  });

  it('are given one after another as they become free', async () => {
    const { enter, granted, left, clock } = world(2);
    for (const name of ['a', 'b', 'c', 'd']) enter(name);
    await settled();
    expect(granted).toEqual(['a', 'b']);
    await left('b');
    await left('b');
    expect(granted).toEqual(['a', 'b', 'c']);
    await left('a');
    await left('c');
    await left('d');
    expect(granted).toEqual(['a', 'b', 'c', 'd']);
    expect(clock.pending).toBe(0);
  });

  it('go to those first that were fast before, and last to those that did not come in time', async () => {
    const { enter, granted, left } = world(1);
    enter('running');
    await settled();
    enter('late', fake({ startMs: 1, late: ['tools'] }));
    enter('slow', fake({ startMs: 9_000 }));
    enter('downloaded', fake({}, { startTimeoutMs: 120_000 }));
    enter('new', fake());
    enter('fast', fake({ startMs: 100 }));
    for (const name of ['running', 'fast', 'new', 'slow', 'downloaded', 'late']) await left(name);
    expect(granted).toEqual(['running', 'fast', 'new', 'slow', 'downloaded', 'late']);
  });

  it('are given up by one that hangs', async () => {
    const { enter, granted, clock } = world(1);
    enter('hangs');
    enter('next');
    await clock.advanceAsync(placeMs(30_000) - 1);
    expect(granted).toEqual(['hangs']);
    await clock.advanceAsync(1);
    expect(granted).toEqual(['hangs', 'next']);
  });

  it('are given up when the server is connected, though its list is still being read', async () => {
    const { enter, granted, all } = world(1);
    const up = fake();
    enter('up', up);
    enter('next');
    await settled();
    up.supervisor.connection = {};
    all.connected(up.server);
    await settled();
    expect(granted).toEqual(['up', 'next']);
  });

  it('cost each server the same, however many there are', async () => {
    let reads = 0;
    const { enter, granted, left } = world(1);
    const names = Array.from({ length: 500 }, (_, index) => `${index}`);
    for (const name of names) {
      const one = fake();
      const { facts } = one.server.history;
      const get = () => {
        reads += 1;
        return facts;
      };
      Object.defineProperty(one.server.history, 'facts', { get });
      enter(name, one);
    }
    await settled();
    for (const name of names) await left(name);
    expect(granted).toEqual(names);
    expect(reads).toBeLessThanOrEqual(2 * names.length);
  });

  it('are shared by all who come for the same server', async () => {
    const { enter, granted, left } = world(1);
    const server = fake();
    enter('tools', server);
    enter('prompts', server);
    enter('next');
    await settled();
    expect(granted).toEqual(['tools', 'prompts']);
    await left('tools');
    expect(granted).toEqual(['tools', 'prompts']);
    await left('prompts');
    expect(granted).toEqual(['tools', 'prompts', 'next']);
  });

  it('are not needed for what runs, is being started, or has no process', async () => {
    const { enter, granted } = world(1);
    const [running, starting] = [fake(), fake()];
    running.supervisor.connection = {};
    starting.supervisor.phase.kind = 'starting';
    enter('first');
    enter('running', running);
    enter('starting', starting);
    enter('remote', fake({}, { type: 'http' }));
    enter('second');
    await settled();
    expect(granted).toEqual(['first', 'running', 'starting', 'remote']);
  });

  it('are needed for each further connection of a server that runs already #first-list', async () => {
    const { enter, granted, left, all } = world(2);
    const running = fake();
    running.supervisor.connection = {};
    for (const name of ['a', 'b', 'c']) enter(name, running, true);
    enter('remote', fake({}, { type: 'http' }), true);
    await settled();
    expect(granted).toEqual(['a', 'b', 'remote']);
    // That the server has a connection says nothing about the further one.
    all.connected(running.server);
    await settled();
    expect(granted).toEqual(['a', 'b', 'remote']);
    await left('a');
    expect(granted).toEqual(['a', 'b', 'remote', 'c']);
  });

  it('expect a start to take as long as the last one, or a tenth of what it may', () => {
    expect(expectedMs({ ...noFacts, startMs: 7 }, 30_000)).toBe(7);
    expect(expectedMs(noFacts, 30_000)).toBe(3_000);
    expect(expectedMs({ ...noFacts, late: ['tools'] }, 30_000)).toBe(Number.POSITIVE_INFINITY);
  });
});
