// What a gateway says at /readyz. One whose shared store has never been reached is not ready: it does not know who may use
// it. Once it has been reached, the gateway stays ready while the store is away: it serves what it has, and if all
// replicas said no at once, a balancer would make a whole outage of a partial one. It says so in its answer.

import type { Readiness } from '../../downstream/http/routes.ts';

export interface ReadinessParts {
  /** Whether it takes new work. */
  readonly isAccepting: () => boolean;
  /** Whether the shared store can be used now; absent: there is none. */
  readonly isStoreUsable?: (() => boolean) | undefined;
  /** Whether it is there, though something in it may be missing; absent: only if it can be used. */
  readonly isStoreReached?: (() => boolean) | undefined;
}

/** To be asked once when everything has been opened, and then whenever somebody asks. */
export function readinessOf(parts: ReadinessParts): () => Readiness {
  const { isAccepting, isStoreUsable, isStoreReached } = parts;
  let wasReached = false;
  return () => {
    const isUsable = isStoreUsable?.() ?? true;
    wasReached ||= isUsable || (isStoreReached?.() ?? false);
    const ready = isAccepting() && wasReached;
    return isUsable ? { ready } : { ready, store: 'failing' };
  };
}
