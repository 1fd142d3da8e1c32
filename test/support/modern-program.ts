// Modern programs with roots in front of a scripted legacy server, and servers that ask before they
// answer. For tests with a fake gateway.

import { expect } from 'vitest';
import { type ModernPeer, newGateway, settled } from './fake-gateway.ts';
import { rooted, rootsTold, seconds } from './rooted-server.ts';
import { type Heard, type Script, type ScriptedChild, text, tool } from './scripted-server.ts';

type Clock = Parameters<typeof seconds>[1];

/** Calls as a modern program does that has these folders: asked for input, it calls again with it. */
export function program(
  peer: ModernPeer,
  clock: Clock,
  roots: readonly string[],
  answersAfterS = 0,
) {
  return async (name: string, args: object = {}) => {
    const answer = { roots: roots.map((uri) => ({ uri })) };
    let more = {};
    for (let rounds = 0; ; rounds += 1) {
      const reply = peer.call(name, args, more);
      for (let time = 0; time < 200 && reply.answers.length === 0; time += 1) {
        await seconds(0.1, clock);
      }
      const { result } = reply;
      if (result['resultType'] !== 'input_required')
        return { rounds, said: JSON.stringify(result) };
      const asked = Object.entries(result['inputRequests'] as Record<string, { method: string }>);
      expect(asked.map(([, { method }]) => method)).toEqual(['roots/list']);
      await seconds(answersAfterS, clock);
      const inputResponses = Object.fromEntries(asked.map(([key]) => [key, answer]));
      more = { inputResponses, requestState: result['requestState'] };
    }
  };
}

export function newPrograms(script: Script, options: Parameters<typeof newGateway>[1] = {}) {
  const world = newGateway({ s: script }, options);
  const withRoots = (...roots: string[]) =>
    program(world.modern({ roots: {} }), world.clock, roots);
  /** One that takes so long to answer. */
  const slow = (answersAfterS: number, ...roots: string[]) =>
    program(world.modern({ roots: {} }), world.clock, roots, answersAfterS);
  const children = () => world.servers.s.children.filter(({ isGone }) => !isGone);
  return { ...world, withRoots, slow, children };
}

/** Asks for the roots so many times, one after the other, and answers then. */
export function asksFirst(
  times: number,
  heard: Heard,
  child: ScriptedChild,
  result: () => object,
): void {
  const ask = async () => {
    for (let at = 0; at < times; at += 1) {
      const id = `${heard.method}-${heard.id}-${at}`;
      child.ask(id, 'roots/list');
      while (!child.isGone && !child.heard.some((one) => one.id === id)) await settled();
    }
    child.answer(heard, result());
  };
  ask().catch(() => {});
}

/** Asks for the roots only when it is asked for its tools, and lists none before it is answered. */
export const asksToList: Script = {
  ...rooted,
  on: {
    ...rooted.on,
    'notifications/initialized': () => undefined,
    'tools/list': (heard, child) => asksFirst(1, heard, child, () => ({ tools: [tool('a')] })),
  },
};

/** Asks in its first call, keeps what it was told, and says so in each; it does not listen to changes. */
export const asksOnce: Script = {
  tools: [tool('a')],
  on: {
    'tools/call': (heard, child) =>
      rootsTold(child) === 'none'
        ? asksFirst(1, heard, child, () => text(rootsTold(child)))
        : text(rootsTold(child)),
  },
};

/** The same, and asks again after each change. */
export const keepsRoots: Script = {
  ...asksOnce,
  on: {
    ...asksOnce.on,
    'notifications/roots/list_changed': (_heard, child) => child.ask('changed', 'roots/list'),
  },
};
