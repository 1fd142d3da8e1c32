// What must not be there any more when a host has ended: processes and what they have left, exchanges
// with remote servers, timers. What an earlier host left when it was killed is the reaper's to end.

import type { Tether } from './tether.ts';
import type { World } from './world.ts';

/** Of its servers, one line each. */
export function serversLeft({ left, http }: World): readonly string[] {
  const children = [...left].filter(({ isOrphan }) => !isOrphan);
  const lines = children.map(({ name, pid, isAlive }) => {
    const state = isAlive ? 'is alive' : 'has left strays';
    return `${name} ${pid} ${state} after the end`;
  });
  return http.open > 0 ? [...lines, `${http.open} exchanges open after the end`] : lines;
}

export function allLeft(world: World, { timers }: Pick<Tether, 'timers'>): readonly string[] {
  const lines = serversLeft(world);
  return timers > 0 ? [...lines, `${timers} timers wait after the end`] : lines;
}
