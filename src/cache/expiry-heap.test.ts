import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Expiring, ExpiryHeap } from './expiry-heap.ts';

describe('the expiry heap', () => {
  it('always has the earliest entry first, whatever comes and goes', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ add: fc.integer({ min: 0, max: 20 }) }),
        fc.record({ remove: fc.nat() }),
      ),
      { maxLength: 80 },
    );
    fc.assert(
      fc.property(steps, (taken) => {
        const heap = new ExpiryHeap<Expiring>();
        const model: Expiring[] = [];
        for (const step of taken) {
          if ('add' in step) {
            const entry = { expiresAt: step.add, place: 0 };
            heap.add(entry);
            model.push(entry);
          } else if (model.length > 0) {
            for (const gone of model.splice(step.remove % model.length, 1)) heap.remove(gone);
          }
          const earliest = Math.min(...model.map((entry) => entry.expiresAt));
          expect(heap.first?.expiresAt ?? Infinity).toBe(earliest);
        }
      }),
    );
  });
});
