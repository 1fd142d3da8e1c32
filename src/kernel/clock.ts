// Time as an ordinary argument. Everything in Holdfast that waits or measures takes a Clock, so
// that a simulation can run hours of faults in milliseconds and a test never sleeps. Monotonic and
// wall time are separate methods because only the first may be subtracted, and only the second may
// be shown to a person or stored on disk.

export interface Clock {
  /** Monotonic milliseconds; meaningful only as a difference. */
  now(): number;
  /** Milliseconds since the epoch; may jump. */
  wallNow(): number;
  /**
   * Runs the task once after at least `ms`. Disposing cancels it. A `background` timer does not
   * keep the process alive: use it for maintenance, never for something a caller waits for.
   */
  after(ms: number, task: () => void, background?: boolean): Disposable;
}

/** Uniform in [0, 1). Injected like the clock, so that jitter can be reproduced from a seed. */
export type Random = () => number;

/** Resolves when the work is done or the time is over, whichever comes first. */
export async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  let timer: Disposable | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = clock.after(ms, resolve);
  });
  await Promise.race([work, deadline]).finally(() => timer?.[Symbol.dispose]());
}
