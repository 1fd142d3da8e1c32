// Records whose methods can be replaced one by one: the methods of a class are not own properties.

import type { Records } from '../../src/store/contract/records.ts';

export function boundRecords(records: Records): Records {
  return {
    get: (key) => records.get(key),
    put: (...given) => records.put(...given),
    putIfAbsent: (...given) => records.putIfAbsent(...given),
    compareAndSet: (...given) => records.compareAndSet(...given),
    remove: (key) => records.remove(key),
    entries: (prefix) => records.entries(prefix),
    isWhole: () => records.isWhole(),
  };
}
