// What records promise to those who watch them: every change is told, or that everything has to be looked at again,
// and not before a read shows it.

import { expect } from 'vitest';
import type { Durability } from '../../../src/store/contract/durability.ts';
import type { RecordChange, Records } from '../../../src/store/contract/records.ts';
import { until } from '../until.ts';
import { caseOf, open, type StoreCase, type StoreSubject } from './subject.ts';

/** Watches, and knows what was told since it last looked. */
function watched(records: Records, prefix: string, boundMs: number) {
  const told: RecordChange[] = [];
  const watching = records.watch?.(prefix, (change) => told.push(change));
  if (watching === undefined) throw new Error('these records cannot be watched');
  const isTold = (key: string) =>
    told.some((change) => change.kind === 'gap' || change.key === key);
  return {
    told,
    /** Changes the record until the watcher is known to be told of each change by its key. */
    begin: async (key: string) => {
      const isBegun = async () => {
        await records.put(key, 'begin');
        return told.some((change) => change.kind === 'changed');
      };
      await until(isBegun, 'the watcher is told of a change', boundMs);
      told.length = 0;
    },
    heard: (key: string) => until(() => isTold(key), `the watcher is told of ${key}`, boundMs),
    end: () => watching[Symbol.dispose](),
  };
}

export function watchCases({ watches = [], watchMs = 1_000 }: StoreSubject): readonly StoreCase[] {
  return watches.flatMap((durability) => casesOf(durability, watchMs));
}

function casesOf(durability: Durability, boundMs: number): readonly StoreCase[] {
  return [
    caseOf(`${durability} records tell a watcher of every change of its keys`, async (bench) => {
      const records = open.records(bench, durability);
      const watch = watched(records, 'a/', boundMs);
      await watch.begin('a/0');
      await records.put('a/1', 1);
      await watch.heard('a/1');
      watch.told.length = 0;
      await records.put('b/1', 1);
      const { version = '' } = (await records.get('a/1')) ?? {};
      await records.compareAndSet('a/1', version, 2);
      await watch.heard('a/1');
      expect(watch.told).not.toContainEqual({ kind: 'changed', key: 'b/1' });
      watch.told.length = 0;
      await records.putIfAbsent('a/2', 2);
      await watch.heard('a/2');
      await records.remove('a/1');
      await watch.heard('a/1');
      expect(await records.get('a/1')).toBeUndefined();
      watch.end();
    }),
    caseOf(`${durability} records tell nobody who has ended watching`, async (bench) => {
      const records = open.records(bench, durability);
      const [ended, other] = [watched(records, '', boundMs), watched(records, '', boundMs)];
      await ended.begin('0');
      ended.end();
      ended.told.length = 0;
      await other.begin('1');
      await records.put('2', 1);
      await other.heard('2');
      expect(ended.told).toEqual([]);
      other.end();
    }),
  ];
}
