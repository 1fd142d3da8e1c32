import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { until } from '../../../test/support/until.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { isWorthKeeping, noFacts, StartHistory } from './start-history.ts';

const hour = 3_600_000;

function world() {
  const clock = new ManualClock();
  const records = new MemoryStore({ clock }).records('starts', { durability: 'forgetful' });
  const history = (spec = 'spec') => new StartHistory(spec, clock, records);
  const written = (facts: object) =>
    until(
      async () => {
        const { value } = (await records.get('spec')) ?? {};
        return isDeepStrictEqual(
          { ...noFacts, ...(value as object) },
          { version: 1, ...noFacts, ...facts },
        );
      },
      `${JSON.stringify(facts)} is written`,
    );
  return { clock, records, history, written };
}

describe('the history of starts', () => {
  it('is there again in a later run, under the same spec', async () => {
    const { clock, history, written } = world();
    const first = history();
    first.started(120);
    first.listed('tools');
    first.wasLate('prompts');
    await written({ startMs: 120, listedAt: clock.wallNow(), late: ['prompts'] });
    const [later, other] = [history(), history('another')];
    await Promise.all([later.recall(), other.recall()]);
    expect(later.facts).toEqual({ startMs: 120, listedAt: clock.wallNow(), late: ['prompts'] });
    expect(other.facts).toEqual(noFacts);
  });

  it('forgets that a list was late when it comes', async () => {
    const { clock, history, written } = world();
    const first = history();
    first.wasLate('tools');
    first.wasLate('tools');
    first.listed('prompts');
    expect(first.facts.late).toEqual(['tools']);
    first.listed('tools');
    await written({ listedAt: clock.wallNow() });
    const later = history();
    await later.recall();
    expect(later.facts.late).toEqual([]);
  });

  it('is not overwritten by what is recalled late', async () => {
    const { history, written } = world();
    history().started(50);
    await written({ startMs: 50 });
    const later = history();
    later.started(400);
    await later.recall();
    expect(later.facts.startMs).toBe(400);
  });

  it('keeps what was late before, for one who writes without having asked', async () => {
    const { clock, history, written } = world();
    const first = history();
    first.wasLate('prompts');
    first.wasLate('tools');
    await written({ late: ['prompts', 'tools'] });
    const command = history();
    command.started(50);
    command.listed('tools');
    await written({ startMs: 50, listedAt: clock.wallNow(), late: ['prompts'] });
    const later = history();
    await later.recall();
    expect(later.facts).toMatchObject({ startMs: 50, late: ['prompts'] });
  });

  it('is written when something is new, not at every start', () => {
    const known = { startMs: 1_000, listedAt: 10 * hour, late: [] };
    expect(isWorthKeeping(known, { ...known, startMs: 2_000 })).toBe(false);
    expect(isWorthKeeping(known, { ...known, startMs: 2_001 })).toBe(true);
    expect(isWorthKeeping(known, { ...known, startMs: 499 })).toBe(true);
    expect(isWorthKeeping(known, { ...known, listedAt: 11 * hour - 1 })).toBe(false);
    expect(isWorthKeeping(known, { ...known, listedAt: 11 * hour })).toBe(true);
    expect(isWorthKeeping(known, { ...known, late: ['tools'] })).toBe(true);
    expect(isWorthKeeping(noFacts, { ...noFacts, startMs: 5 })).toBe(true);
  });

  it.each([
    null,
    7,
    { version: 2, startMs: 5, late: [] },
    { version: 1, startMs: 'x', listedAt: -1, late: 'tools' },
    { version: 1, startMs: null, late: ['toString', '__proto__'] },
  ])('takes a record that does not fit as none: %j', async (record) => {
    const { history, records } = world();
    await records.put('spec', record);
    const later = history();
    await later.recall();
    expect(later.facts).toEqual(noFacts);
  });
});
