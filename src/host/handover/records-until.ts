// Records that this process writes only until it has handed its host over: afterwards they belong to the next
// process, and what is still learnt here is not written over what that one knows.

import type { Records } from '../../store/contract/records.ts';

export function recordsUntil(records: Records, isOver: () => boolean): Records {
  const skipped = Promise.resolve('');
  const skippedPut = Promise.resolve({ isPut: true, version: '' } as const);
  return {
    ...(records.takesBytes && { takesBytes: true }),
    get: (key) => records.get(key),
    put: (key, value, options) => (isOver() ? skipped : records.put(key, value, options)),
    putIfAbsent: (key, value, options) =>
      isOver() ? skippedPut : records.putIfAbsent(key, value, options),
    compareAndSet: (key, version, value, options) =>
      isOver() ? skippedPut : records.compareAndSet(key, version, value, options),
    remove: (key) => (isOver() ? Promise.resolve() : records.remove(key)),
    entries: (prefix) => records.entries(prefix),
    isWhole: () => records.isWhole(),
    ...(records.watch && { watch: (prefix, heard) => records.watch?.(prefix, heard) ?? noWatch }),
  };
}

const noWatch: Disposable = { [Symbol.dispose]: () => {} };
