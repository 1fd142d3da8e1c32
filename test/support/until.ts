// Waiting for the world to be in a state, instead of for time to pass.

/** Resolves when the condition holds; fails with `what` if it does not within the outer bound. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  boundMs = 20_000,
): Promise<void> {
  const giveUpAt = Date.now() + boundMs;
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`still not so after ${boundMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
