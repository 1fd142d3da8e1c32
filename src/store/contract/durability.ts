// How long data must be kept, chosen by the code that opens it. It decides what a resolved promise
// means, and what happens when the store cannot keep a value: a durable or a process-long value is
// refused with a `StoreError`, a forgetful one is dropped without an error.

/**
 * `durable`: a change that has resolved survives a kill of the process, and a power cut as far as
 * the store's own file promises it. If that is impossible, the change is rejected (`not_kept`).
 */
export type Durability = 'durable' | 'process' | 'forgetful';

/** For data that is useless when parts of it may be missing. */
export type Unforgetful = Exclude<Durability, 'forgetful'>;
