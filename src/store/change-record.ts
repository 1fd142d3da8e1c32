// Changes a record from the state in which it was read, and again from the next one as long as others are first: for
// what several processes count together.

import type { PutOptions, Records } from './contract/records.ts';
import { StoreError } from './store-error.ts';

/** What is to become of a record; without a value it stays as it is. */
export interface Change<Result> {
  readonly value?: unknown;
  readonly result: Result;
}

/** So many others may have been first. */
const maxConflicts = 256;

/** `step` gets the value, undefined if there is none, and has no effects of its own. Rejects with a StoreError. */
export async function changeRecord<Result>(
  records: Records,
  key: string,
  step: (value: unknown) => Change<Result>,
  options?: PutOptions,
): Promise<Result> {
  let entry = await records.get(key);
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const { value, result } = step(entry?.value);
    if (value === undefined) return result;
    const put =
      entry === undefined
        ? await records.putIfAbsent(key, value, options)
        : await records.compareAndSet(key, entry.version, value, options);
    if (put.isPut) return result;
    entry = put.entry;
  }
  throw new StoreError('not_kept', `${maxConflicts} others have changed it at the same time`);
}
