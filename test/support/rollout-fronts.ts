// HTTP fronts that replace each other at one address, as processes do in a rollout, played in one process: neighbours are
// joined by links and by the bus over them, connections are given as handles, and what listens outlives each front.

import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { HttpFormer } from '../../src/downstream/http/listener.ts';
import { followFormer, successorOver } from '../../src/downstream/http/rollout/front-link.ts';
import type { SocketHandle } from '../../src/downstream/http/rollout/handed-socket.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { NeighbourBus } from '../../src/replicas/neighbour-bus.ts';
import { Tunnels } from '../../src/replicas/tunnel/tunnels.ts';
import { type FrontOptions, httpFront } from './http-front.ts';
import { playedLinks } from './played-links.ts';

const caught = (error: unknown) => {
  throw error;
};

/** What a process is called, in the order in which they come. */
export function replicaAt(at: number): string {
  return at.toString(16).padStart(16, '0');
}

async function process(at: number, options: FrontOptions, listening?: SocketHandle) {
  const clock = systemClock;
  const bus = new NeighbourBus({ clock, caught });
  let accept: (connection: Duplex) => void = (connection) => connection.destroy();
  const tunnels = new Tunnels({
    ...{ bus, clock, subjects: 'hfl', id: replicaAt(at) },
    secret: Buffer.alloc(32, 'secret'),
    accepted: (connection) => accept(connection),
    isOneMachine: true,
    caught,
  });
  const front = await httpFront({ ...options, peers: tunnels, listening });
  tunnels.accept();
  accept = (connection) => front.http.accept(connection);
  onTestFinished(() => {
    tunnels[Symbol.dispose]();
    bus[Symbol.dispose]();
  });
  return { ...front, tunnels, bus };
}

export type FrontProcess = Awaited<ReturnType<typeof process>>;

export interface Rolled {
  readonly was: FrontProcess;
  readonly former: HttpFormer;
  readonly now: FrontProcess;
  /** The former has ended, and all before it. */
  readonly ended: Promise<void>;
}

/** `optionsOf` is called for each front. */
export async function rolloutFronts(
  optionsOf: (at: number) => FrontOptions | Promise<FrontOptions> = () => ({}),
) {
  let count = 0;
  const made = await process(count, await optionsOf(count));
  const all = [made];
  const { port } = made;
  let ended = Promise.resolve();

  /** The next one serves; `before` is called when the fence has been drawn and nobody accepts. */
  async function roll(before: () => void | Promise<void> = () => {}): Promise<Rolled> {
    const was = all.at(-1) as FrontProcess;
    count += 1;
    const options = await optionsOf(count);
    const [older, newer] = playedLinks();
    const handle = was.http.listening as SocketHandle & { close?: unknown; onconnection: unknown };
    // The holder has another descriptor of it.
    handle.close = () => {};
    /** What would wait in the kernel until somebody accepts it. */
    const waiting: SocketHandle[] = [];
    const idle: (readonly [SocketHandle, boolean])[] = [];
    let take = (...one: readonly [SocketHandle, boolean]) => void idle.push(one);
    const connection = (one: SocketHandle, isKnown: boolean) =>
      void setImmediate(() => take(one, isKnown));
    was.bus.join(older, 'successor');
    was.tunnels.stopAccepting();
    const former = was.http.handOver(successorOver(older, connection, caught));
    handle.onconnection = (_error: unknown, client: SocketHandle) => void waiting.push(client);
    await before();
    // What was said of sessions is there before the first connection, as it is before the word to serve.
    await new Promise(setImmediate);
    Reflect.deleteProperty(handle, 'close');
    const now = await process(count, options, handle);
    now.bus.join(newer, 'former');
    followFormer(newer, now.http);
    take = (...one) => void now.http.adopt(...one);
    for (const one of idle) take(...one);
    for (const one of waiting) now.http.adopt(one);
    all.push(now);
    // One in the middle stays: those before it are reached by way of it.
    ended = Promise.all([ended, former.ended]).then(async () => {
      await was.tunnels.finish();
      was.tunnels[Symbol.dispose]();
      older.end();
    });
    ended.catch(caught);
    return { was, former, now, ended };
  }

  return { first: made, all, port, roll };
}
