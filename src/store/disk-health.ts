// The health of the disk as `status` shows it: for everything that is written there, not only the
// store.

import type { Store, StoreHealth } from './store.ts';

/** The same store, which is healthy only as long as the other is, too. */
export function withHealthOf(store: Store, other: () => StoreHealth): Store {
  return {
    records: (name, options) => store.records(name, options),
    log: (name, options) => store.log(name, options),
    queue: (name, options) => store.queue(name, options),
    counter: (name, options) => store.counter(name, options),
    health: () => joined(store.health(), other()),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

function joined(one: StoreHealth, other: StoreHealth): StoreHealth {
  if (one.ok || other.ok) return one.ok ? other : one;
  return { ok: false, problem: `${one.problem}; ${other.problem}` };
}
