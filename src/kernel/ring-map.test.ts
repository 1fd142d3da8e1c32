import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RingMap } from './ring-map.ts';

describe('a table for what comes and goes', () => {
  it('tells 1 from "1", and numbers that share a place from each other', () => {
    const table = new RingMap<number | string, string>(1024);
    for (const key of [1, '1', 1025, 2049]) table.set(key, `${typeof key} ${key}`);
    expect([1, '1', 1025, 2049].map((key) => table.get(key))).toEqual([
      'number 1',
      'string 1',
      'number 1025',
      'number 2049',
    ]);
    expect(table.size).toBe(4);
  });

  it('does what a Map does, whatever the keys', () => {
    const key = fc.oneof(
      fc.integer({ min: -3, max: 5 }),
      fc.constantFrom(1024, 1025, 2048, 1.5, Number.MAX_SAFE_INTEGER, '0', '1', ''),
    );
    const step = fc.tuple(fc.constantFrom('set', 'delete'), key, fc.nat(9));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const table = new RingMap<number | string, number>(1024);
        const map = new Map<number | string, number>();
        for (const [what, at, value] of steps) {
          if (what === 'set') {
            table.set(at, value);
            map.set(at, value);
          } else expect(table.delete(at)).toBe(map.delete(at));
          expect(table.get(at)).toBe(map.get(at));
          expect(table.size).toBe(map.size);
        }
        expect([...table.values()].sort()).toEqual([...map.values()].sort());
        for (const [at, value] of map) expect(table.get(at)).toBe(value);
      }),
    );
  });

  it('is empty after it was cleared', () => {
    const table = new RingMap<number, string>(4);
    table.set(1, 'a');
    table.clear();
    expect([table.size, table.get(1), table.values()]).toEqual([0, undefined, []]);
  });
});
