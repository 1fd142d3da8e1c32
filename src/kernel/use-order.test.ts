import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UseOrder } from './use-order.ts';

describe('the order of use', () => {
  it('has the longest unused first', () => {
    const order = new UseOrder<string>();
    const [a, b, c] = ['a', 'b', 'c'].map((name) => order.add(name));
    if (!a || !b || !c) throw new Error('no places');
    order.used(a);
    expect([order.first, ...order]).toEqual(['b', 'b', 'c', 'a']);
    order.remove(c);
    order.used(b);
    expect([...order]).toEqual(['a', 'b']);
    order.remove(a);
    order.remove(b);
    expect([order.first, ...order]).toEqual([undefined]);
  });

  it('is that of a list, whatever is used and removed', () => {
    const deed = fc.tuple(fc.constantFrom('add', 'use', 'remove'), fc.nat(9));
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 60 }), (deeds) => {
        const order = new UseOrder<number>();
        const places = new Map<number, ReturnType<typeof order.add>>();
        let model: number[] = [];
        for (const [what, thing] of deeds) {
          const place = places.get(thing);
          if (what === 'add' && !place) places.set(thing, order.add(thing));
          if (what === 'use' && place) order.used(place);
          if (what === 'remove' && place) {
            order.remove(place);
            places.delete(thing);
          }
          if (what === 'remove' || place || what === 'add') {
            const isThere = what === 'remove' ? false : places.has(thing);
            if (what !== 'add' || !place) model = model.filter((one) => one !== thing);
            if (isThere && (what !== 'add' || !place)) model.push(thing);
          }
          expect([...order]).toEqual(model);
          expect(order.first).toBe(model[0]);
        }
      }),
    );
  });

  it('lets the one that is given out be removed meanwhile', () => {
    const order = new UseOrder<number>();
    const places = [1, 2, 3].map((thing) => order.add(thing));
    const seen: number[] = [];
    for (const thing of order) {
      seen.push(thing);
      const place = places[thing - 1];
      if (place) order.remove(place);
    }
    expect([seen, [...order]]).toEqual([[1, 2, 3], []]);
  });
});
