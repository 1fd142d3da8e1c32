import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/manual-clock.ts';
import { EventHub, type HostEvent } from './events.ts';

const idle = { kind: 'idle', server: 'files' } as const;

describe('the event hub', () => {
  it('stamps every event and hands it to every listener, in order', () => {
    let now = 100;
    const hub = new EventHub(() => now++);
    const heard: [string, HostEvent][] = [];
    hub.subscribe((event) => heard.push(['one', event]));
    hub.subscribe((event) => heard.push(['two', event]));
    hub.emit(idle);
    hub.emit({ kind: 'reloaded', server: 'files' });
    expect(heard).toEqual([
      ['one', { at: 100, kind: 'idle', server: 'files' }],
      ['two', { at: 100, kind: 'idle', server: 'files' }],
      ['one', { at: 101, kind: 'reloaded', server: 'files' }],
      ['two', { at: 101, kind: 'reloaded', server: 'files' }],
    ]);
  });

  it('drops a listener that throws, and the others stay', () => {
    const hub = new EventHub(() => 0);
    let times = 0;
    hub.subscribe(() => {
      times += 1;
      throw new Error('an observer with a defect');
    });
    const heard: HostEvent[] = [];
    hub.subscribe((event) => heard.push(event));
    hub.emit(idle);
    hub.emit(idle);
    expect(times).toBe(1);
    expect(heard).toHaveLength(2);
  });

  it('knows whether anybody listens', () => {
    const hub = new EventHub(() => 0);
    expect(hub.isHeard).toBe(false);
    const subscription = hub.subscribe(() => {});
    expect(hub.isHeard).toBe(true);
    subscription[Symbol.dispose]();
    expect(hub.isHeard).toBe(false);
  });
});

describe('events as a stream', () => {
  async function readAll(stream: AsyncIterable<HostEvent>, into: number[]): Promise<void> {
    for await (const event of stream) into.push(event.at);
  }

  it('gives each event once and ends when told to', async () => {
    let now = 0;
    const hub = new EventHub(() => now++);
    const end = new AbortController();
    const seen: number[] = [];
    const reading = readAll(hub.stream(end.signal), seen);
    hub.emit(idle);
    hub.emit(idle);
    await settled();
    hub.emit(idle);
    await settled();
    expect(seen).toEqual([0, 1, 2]);
    end.abort();
    await reading;
    expect(hub.isHeard).toBe(false);
  });

  it('loses the oldest events, not memory, when its reader falls behind', async () => {
    let now = 0;
    const hub = new EventHub(() => now++);
    const end = new AbortController();
    const stream = hub.stream(end.signal, () => true, 3);
    const first = stream.next();
    hub.emit(idle);
    expect((await first).value?.at).toBe(0);
    for (let i = 0; i < 10; i++) hub.emit(idle);
    const seen: number[] = [];
    const reading = readAll(stream, seen);
    await settled();
    end.abort();
    await reading;
    expect(seen).toEqual([8, 9, 10]);
  });

  it('ends at once when it was told to before it began', async () => {
    const hub = new EventHub(() => 0);
    const seen: number[] = [];
    await readAll(hub.stream(AbortSignal.abort()), seen);
    expect(seen).toEqual([]);
    expect(hub.isHeard).toBe(false);
  });

  it('stops listening when its reader walks away', async () => {
    const hub = new EventHub(() => 0);
    const end = new AbortController();
    const stream = hub.stream(end.signal);
    const first = stream.next();
    hub.emit(idle);
    await first;
    await stream.return();
    expect(hub.isHeard).toBe(false);
  });
});
