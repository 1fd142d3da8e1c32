import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { MemoryStore } from '../store/memory.ts';
import { type Facts, ServerFacts } from './server-facts.ts';

function newFacts(store = new MemoryStore({ clock: new ManualClock() })) {
  const changes: Facts[] = [];
  const collection = store.collection('verdicts');
  const facts = new ServerFacts(collection, 'hash', (now) => changes.push(now));
  return { facts, changes, store, collection };
}

describe('what is learnt of a server', () => {
  it('is there for a later run, for a week #eras', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    const { facts } = newFacts(store);
    facts.learn({ legacy: true });
    facts.learn({ classes: 'alike', asksAtStart: false });
    await facts.kept();
    expect(await newFacts(store).facts.known()).toEqual({
      legacy: true,
      classes: 'alike',
      asksAtStart: false,
    });
    clock.advance(7 * 24 * 60 * 60 * 1000);
    expect(await newFacts(store).facts.known()).toEqual({});
  });

  it('is told once, and only if it is new', () => {
    const { facts, changes } = newFacts();
    facts.learn({ modern: true });
    facts.learn({ modern: true });
    facts.learn({ modern: false });
    expect(changes).toEqual([{ modern: true }, { modern: false }]);
  });

  it('counts more than what an earlier run knew', async () => {
    const { store, facts } = newFacts();
    facts.learn({ modern: false, legacy: true });
    await facts.kept();
    const later = newFacts(store).facts;
    later.learn({ modern: true });
    expect(await later.known()).toEqual({ modern: true, legacy: true });
  });

  it.each(['legacy', null, 5, [], { legacy: 'yes', classes: 'same', asksAtStart: 1 }])(
    'is nothing if what comes back from the disk is %j',
    async (record) => {
      const { facts, collection } = newFacts();
      await collection.put('hash', record);
      expect(await facts.known()).toEqual({});
    },
  );
});
