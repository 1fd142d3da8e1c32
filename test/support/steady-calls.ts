// Calls one after the other while something happens to the gateway: each with a nonce of its own, and every one has to be
// answered with its effect (the tool `add` of the faulty server).

import type { Json } from './gateway-stdio-client.ts';

export interface SteadyCalls {
  /** No more are made: the nonces of all. Rejects if one had another answer. */
  stop(): Promise<readonly string[]>;
}

/** Between two calls: the processes that take over need the processor, too. */
const betweenMs = 10;

export function steadyCalls(name: string, call: (args: object) => Promise<Json>): SteadyCalls {
  let isOver = false;
  const made: string[] = [];
  const done = (async () => {
    while (!isOver) {
      const nonce = `${name}-${made.length}`;
      made.push(nonce);
      const answer = JSON.stringify(await call({ nonce, key: nonce, amount: 1 }));
      if (!answer.includes(`"key":"${nonce}"`)) throw new Error(`${nonce}: ${answer}`);
      await new Promise((resolve) => setTimeout(resolve, betweenMs));
    }
    return made;
  })();
  // Whoever waits for it hears of a failure.
  done.catch(() => {});
  return {
    stop: () => {
      isOver = true;
      return done;
    },
  };
}
