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

/** Of one process of the host, while others go on. */
export function leftOf({ left, http }: World, tether: Tether): readonly string[] {
  const children = [...left].filter((child) => child.tether === tether && !child.isOrphan);
  const lines = children.map(({ name, pid }) => `${name} ${pid} is left by a former process`);
  const open = http.openOf(tether);
  if (open > 0) lines.push(`${open} exchanges of a former process are open after its end`);
  if (tether.timers > 0) lines.push(`${tether.timers} timers of a former process wait`);
  return lines;
}

export function allLeft(world: World, { timers }: Pick<Tether, 'timers'>): readonly string[] {
  const lines = serversLeft(world);
  return timers > 0 ? [...lines, `${timers} timers wait after the end`] : lines;
}
