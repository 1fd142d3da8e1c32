import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { Records } from '../../store/contract/records.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { type Facts, ServerFacts } from './server-facts.ts';

const weekMs = 7 * 24 * 60 * 60 * 1000;

function newFacts(clock = new ManualClock(), store = new MemoryStore({ clock })) {
  const changes: Facts[] = [];
  const records = store.records('verdicts', { durability: 'forgetful' });
  const facts = new ServerFacts(records, 'hash', clock, (now) => changes.push(now));
  return { facts, changes, store, records, clock };
}

describe('what is learnt of a server', () => {
  it('is there for a later run, for a week #eras', async () => {
    const { facts, clock, store } = newFacts();
    facts.learn({ legacy: true });
    facts.learn({ classes: 'alike', asksAtStart: false });
    await facts.kept();
    expect(await newFacts(clock, store).facts.known()).toEqual({
      legacy: true,
      classes: 'alike',
      asksAtStart: false,
    });
    clock.advance(weekMs);
    expect(await newFacts(clock, store).facts.known()).toEqual({});
  });

  it('is forgotten after a week in a host that runs on, unless the server has shown it since #eras', async () => {
    const { facts, clock, store, changes } = newFacts();
    facts.learn({ legacy: true, modern: false });
    clock.advance(weekMs - 1);
    expect(await facts.known()).toEqual({ legacy: true, modern: false });
    facts.learn({ legacy: true });
    clock.advance(1);
    expect(await facts.known()).toEqual({ legacy: true });
    expect(changes.at(-1)).toEqual({ legacy: true });
    await facts.kept();
    expect(await newFacts(clock, store).facts.known()).toEqual({ legacy: true });
  });

  it('is as old as it was when a later run reads it', async () => {
    const { facts, clock, store } = newFacts();
    facts.learn({ modern: false });
    clock.advance(weekMs / 2);
    facts.learn({ classes: 'alike' });
    await facts.kept();
    const later = newFacts(clock, store).facts;
    expect(await later.known()).toEqual({ modern: false, classes: 'alike' });
    clock.advance(weekMs / 2);
    expect(await later.known()).toEqual({ classes: 'alike' });
  });

  it('does not keep a start waiting for a disk that hangs', async () => {
    const clock = new ManualClock();
    const never = new Promise<never>(() => {});
    const hung = { get: () => never, put: () => never } as unknown as Records;
    const facts = new ServerFacts(hung, 'hash', clock, () => {});
    const known = facts.known();
    await clock.advanceAsync(1_000);
    expect(await known).toEqual({});
    facts.learn({ legacy: false, modern: true });
    const kept = facts.kept();
    await clock.advanceAsync(1_000);
    await kept;
    expect([facts.now, clock.pending]).toEqual([{ legacy: false, modern: true }, 0]);
  });

  it('is not that it ended at initialize: only the next start begins otherwise #eras', async () => {
    const { facts, clock, store } = newFacts();
    facts.notInitialized();
    expect([facts.now, facts.assumed]).toEqual([{}, { legacy: false }]);
    expect(await facts.known()).toEqual({ legacy: false });
    // Clients go to the modern connection that there is, and the next start tries initialize again.
    facts.learn({ modern: true });
    expect(facts.assumed).toEqual({ legacy: false, modern: true });
    expect(await facts.known()).toEqual({ modern: true });
    facts.lastConnectionEnded();
    expect(facts.assumed).toEqual({ modern: true });
    await facts.kept();
    expect(await newFacts(clock, store).facts.known()).toEqual({ modern: true });
    facts.learn({ legacy: true });
    expect(facts.now).toEqual({ legacy: true, modern: true });
  });

  it('is not what the next start begins with when one has failed with it, and every second one does #eras', async () => {
    const { facts, changes } = newFacts();
    facts.learn({ legacy: true, modern: false, classes: 'alike' });
    facts.startFailed(facts.basis);
    expect([facts.assumed, await facts.known()]).toEqual([
      { classes: 'alike' },
      { classes: 'alike' },
    ]);
    expect(changes).toHaveLength(2);
    facts.startFailed(facts.basis);
    expect(await facts.known()).toEqual({ legacy: true, modern: false, classes: 'alike' });
  });

  it('is replaced by what a server answers that was in doubt, in a later run too #eras', async () => {
    const { facts, clock, store } = newFacts();
    facts.learn({ legacy: true, modern: false, classes: 'alike' });
    facts.startFailed(facts.basis);
    facts.learn({ modern: true });
    expect(await facts.known()).toEqual({ modern: true, classes: 'alike' });
    await facts.kept();
    expect(await newFacts(clock, store).facts.known()).toEqual({ modern: true, classes: 'alike' });
  });

  it('does not make a start try initialize again after one that has failed with it #eras', async () => {
    const { facts } = newFacts();
    facts.learn({ modern: true });
    const { basis } = facts;
    facts.notInitialized();
    facts.startFailed(basis);
    expect(await facts.known()).toEqual({ legacy: false, modern: true });
    facts.connected();
    expect(await facts.known()).toEqual({ modern: true });
  });

  it('is reported once, and only if it is new', () => {
    const { facts, changes } = newFacts();
    facts.learn({ modern: true });
    facts.learn({ modern: true });
    facts.learn({ modern: false });
    expect(changes).toEqual([{ modern: true }, { modern: false }]);
  });

  it('counts more than what an earlier run knew', async () => {
    const { store, facts, clock } = newFacts();
    facts.learn({ modern: false, legacy: true });
    await facts.kept();
    const later = newFacts(clock, store).facts;
    later.learn({ modern: true });
    expect(await later.known()).toEqual({ modern: true, legacy: true });
  });

  it.each(['legacy', null, 5, [], { legacy: 'yes', classes: 'same', asksAtStart: 1 }])(
    'is nothing if what comes back from the disk is %j',
    async (record) => {
      const { facts, records } = newFacts();
      await records.put('hash', record);
      expect(await facts.known()).toEqual({});
    },
  );
});
