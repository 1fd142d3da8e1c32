// A scripted server that works with roots, and clients that tell it theirs: it asks at its start and
// after each change, and its tool says which roots it was told last. For tests with a fake gateway.

import { type LegacyPeer, settled } from './fake-gateway.ts';
import { type Script, type ScriptedChild, text, tool } from './scripted-server.ts';

type Talk = { readonly messages: readonly Record<string, unknown>[] };

/** Asks for the roots at its start and after each change, and answers calls with those it knows. */
export const rooted: Script = {
  tools: [tool('a', { annotations: { readOnlyHint: true } })],
  on: {
    'notifications/initialized': (_heard, child) => child.ask(`start`, 'roots/list'),
    'notifications/roots/list_changed': (_heard, child) =>
      child.ask(`change-${child.heard.length}`, 'roots/list'),
    'tools/call': (_heard, child) => ({ ...text(rootsTold(child)), ttlMs: 60_000 }),
  },
};

export function rootsTold(child: ScriptedChild): string {
  const told = child.heard.filter(({ result }) => JSON.stringify(result ?? {}).includes('file:'));
  return told.length === 0 ? 'none' : JSON.stringify(told.at(-1)?.result);
}

/** Answers every question for roots that has come so far, each once. */
export function rootsOf(peer: LegacyPeer, uri: string, ...talks: Talk[]): () => void {
  const done = new Set<unknown>();
  return () => {
    for (const { id, method } of [...peer.messages, ...talks.flatMap(({ messages }) => messages)]) {
      if (method !== 'roots/list' || done.has(id)) continue;
      done.add(id);
      peer.answer(id, { roots: [{ uri }] });
    }
  };
}

/** Lets so many seconds pass, in small steps, with this work after each. */
export async function seconds(
  count: number,
  clock: { advanceAsync(ms: number): Promise<unknown> },
  ...work: (() => void)[]
): Promise<void> {
  for (let turn = 0; turn < count * 10; turn += 1) {
    await clock.advanceAsync(100);
    for (const one of work) one();
    await settled();
  }
}
