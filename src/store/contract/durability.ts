// How long something must be kept, as whoever opens it needs it. It decides what a resolved promise
// means, and what happens when the store cannot keep a value: a durable or a process-long one is refused
// with a `StoreError`, a forgetful one is dropped and nobody's call fails for it.

/**
 * `durable`: a change that has resolved is there after the process was killed, and after a power cut as
 * far as the store's own file promises it. If that cannot be had, the change is rejected (`not_kept`).
 *
 * `process`: a change that has resolved is there until the store is closed; a crash may lose it. Nothing
 * is dropped to make room: what does not fit is rejected (`full`).
 *
 * `forgetful`: for what can be had again, such as caches. It is kept as long and as well as the store
 * can, over restarts too where it can, and may be gone at any time. A full or failing disk rejects
 * nothing: `health` shows it, and the store tries again.
 */
export type Durability = 'durable' | 'process' | 'forgetful';

/** For what loses its meaning when parts of it may be missing. */
export type Unforgetful = Exclude<Durability, 'forgetful'>;
