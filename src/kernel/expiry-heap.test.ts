import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Expiring, ExpiryHeap } from './expiry-heap.ts';

describe('the expiry heap', () => {
  it('gives its entries in the order of expiry, whichever of them left before', () => {
    const entries = fc.array(
      fc.record({ expiresAt: fc.integer({ min: 0, max: 1_000 }), leaves: fc.boolean() }),
      { minLength: 10, maxLength: 100, size: 'max' },
    );
    fc.assert(
      fc.property(entries, (given) => {
        const heap = new ExpiryHeap<Expiring & { readonly leaves: boolean }>();
        const all = given.map((one) => ({ ...one, place: 0 }));
        for (const entry of all) heap.add(entry);
        for (const entry of all) if (entry.leaves) heap.remove(entry);
        const stayed = all.filter((entry) => !entry.leaves).map((entry) => entry.expiresAt);
        expect(drain(heap)).toEqual(stayed.sort((a, b) => a - b));
      }),
    );
  });

  it('has nothing first when it is empty', () => {
    const heap = new ExpiryHeap();
    expect(heap.first).toBeUndefined();
  });
});

function drain(heap: ExpiryHeap<Expiring & { readonly leaves: boolean }>): readonly number[] {
  const order: number[] = [];
  for (let entry = heap.first; entry !== undefined; entry = heap.first) {
    order.push(entry.expiresAt);
    heap.remove(entry);
  }
  return order;
}
