// Time as an ordinary argument. Everything in Holdfast that waits or measures takes a Clock, so
// that a simulation can run hours of faults in milliseconds and a test never sleeps. Monotonic and
// wall time are separate methods because only the first may be subtracted, and only the second may
// be shown to a person or kept on disk.

export interface Clock {
  /** Monotonic milliseconds; meaningful only as a difference. */
  now(): number;
  /** Milliseconds since the epoch; may jump. */
  wallNow(): number;
  /**
   * Runs the task once after at least `ms`. Disposing cancels it. A `background` timer does not
   * keep the process alive: use it for upkeep, never for something a caller waits on.
   */
  after(ms: number, task: () => void, background?: boolean): Disposable;
}

/** Uniform in [0, 1). Injected like the clock, so that jitter can be replayed from a seed. */
export type Random = () => number;

/** Resolves after `ms` on the given clock. */
export function elapsed(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}
