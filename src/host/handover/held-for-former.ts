// A server that calls of the process before this one still use: it is held here as if they were calls of this process, so
// that it is neither idle nor given up for another one, and its idle time begins when they have ended.

import { ignored } from '../../kernel/contain.ts';
import type { Leases } from '../../supervise/leases.ts';
import type { FormerCalls } from '../../upstream/handed-connection.ts';

export function holdForFormer(former: FormerCalls, leases: Pick<Leases, 'hold' | 'release'>): void {
  let isHeld = false;
  const look = () => {
    const { mayHaveCalls } = former;
    if (mayHaveCalls === isHeld) return;
    isHeld = mayHaveCalls;
    if (isHeld) leases.hold();
    else leases.release();
  };
  former.watch?.(look);
  former.over?.then(look, look).catch(ignored);
  look();
}
