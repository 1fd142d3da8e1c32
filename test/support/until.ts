// Waiting for the world to be in a state, instead of for time to pass: for what another process does,
// and what has no event that could be awaited.

/** Resolves when the condition holds; fails with `what` if it does not within the outer bound. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  boundMs = 20_000,
): Promise<void> {
  const giveUpAt = Date.now() + boundMs;
  for (let looks = 0; !(await condition()); looks += 1) {
    if (Date.now() > giveUpAt) throw new Error(`still not so after ${boundMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, Math.min(longestMs, 2 + looks)));
  }
}

/** Looks come at first in quick succession: what takes long is not worth the processor's time. */
const longestMs = 20;
