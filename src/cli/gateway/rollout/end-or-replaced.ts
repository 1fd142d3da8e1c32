// Why a gateway ends: somebody wants it to, or another process has replaced it. Both may come at once. Before the fence the
// end ends the rollout; behind it this process has nothing more to end, and the next one does it.

import type { Served } from '../served.ts';

/** `asked`: each resolves when the end is wanted. */
export async function endOrReplaced<T>(
  { succession, rollouts }: Pick<Served, 'succession' | 'rollouts'>,
  asked: readonly Promise<T>[],
): Promise<T | 'asked' | 'replaced'> {
  if (succession === undefined) return await Promise.race(asked);
  const replaced = succession.replaced.then(() => 'replaced' as const);
  // The process before was asked for it when it could not do it any more.
  const passedOn = succession.endAsked.then(() => 'asked' as const);
  const why = await Promise.race([...asked, passedOn, replaced]);
  if (why === 'replaced') return why;
  rollouts.shutdown();
  return succession.isLeaving ? await replaced : why;
}
