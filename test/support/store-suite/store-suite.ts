// The whole suite as a list of cases for one store, so that it can be run by a test file, or by a test of
// the suite itself which wants to see a broken store found.

import { describe, expect, it } from 'vitest';
import type { Durability } from '../../../src/store/contract/durability.ts';
import { StoreError } from '../../../src/store/store-error.ts';
import { counterCases } from './counters.ts';
import { keptCases } from './kept.ts';
import { logCases } from './logs.ts';
import { queueCases } from './queues.ts';
import { boundedRecordCases, recordCases } from './records.ts';
import {
  type Bench,
  caseOf,
  open,
  type Sketch,
  type StoreCase,
  type StoreSubject,
} from './subject.ts';
import { watchCases } from './watches.ts';

const durabilities = ['durable', 'process', 'forgetful'] as const;
const unforgetful = ['durable', 'process'] as const;

/** Registers the suite for one store: what a store's test file calls. */
export function storeSuite(name: string, subject: StoreSubject): void {
  describe(`${name}, as a store`, () => {
    for (const { title, run } of storeCases(subject)) it(title, () => run(subject));
  });
}

export function storeCases(subject: StoreSubject): readonly StoreCase[] {
  const { offers, boundsRecords } = subject;
  const bounded = boundsRecords ? boundedRecordCases : [];
  return [
    ...offered('records', durabilities, offers.records, [...recordCases, ...bounded], open.records),
    ...offered('logs', durabilities, offers.logs, logCases, open.log),
    ...offered('queues', unforgetful, offers.queues, queueCases, open.queue),
    ...offered('counters', durabilities, offers.counters, counterCases, open.counter),
    ...watchCases(subject),
    ...keptCases(subject),
    ...wholeCases(subject),
  ];
}

function offered<Kind extends Durability>(
  word: string,
  kinds: readonly Kind[],
  has: readonly Kind[],
  sketches: readonly Sketch<Kind>[],
  openOne: (bench: Bench, durability: Kind) => unknown,
): readonly StoreCase[] {
  return kinds.flatMap((durability) => {
    if (has.includes(durability)) {
      return sketches.map(([title, show]) =>
        caseOf(`${durability} ${word} ${title}`, (bench) => show(bench, durability)),
      );
    }
    return caseOf(`${durability} ${word} are refused when they are opened`, async (bench) => {
      expect(() => openOne(bench, durability)).toThrow(
        expect.objectContaining({ reason: 'unsupported' }),
      );
    });
  });
}

/** What holds of a store as a whole. */
function wholeCases({ offers, boundsRecords }: StoreSubject): readonly StoreCase[] {
  const [durability, ...others] = offers.records;
  if (durability === undefined) return [];
  const cases = [
    caseOf('it is well while nothing is wrong', async ({ store }) => {
      expect(store.health()).toEqual({ ok: true });
    }),
    caseOf('it refuses names that are none', async ({ store }) => {
      for (const bad of ['', '..', 'a/b', 'Verdicts', 'a b']) {
        expect(() => store.records(bad, { durability })).toThrow(TypeError);
      }
    }),
    caseOf('it closes once, however often it is asked, and takes nothing afterwards', closing),
  ];
  if (!boundsRecords) {
    const title = 'it refuses to count records, which it cannot';
    const counted = async (bench: Bench) =>
      expect(() => open.records(bench, durability, 3)).toThrow(StoreError);
    cases.push(caseOf(title, counted));
  }
  if (others.length > 0) {
    const title = 'it refuses to open one name with two durabilities';
    const twice = async (bench: Bench) => {
      open.records(bench, durability);
      for (const other of others) expect(() => open.records(bench, other)).toThrow(TypeError);
    };
    cases.push(caseOf(title, twice));
  }
  return cases;

  async function closing(bench: Bench): Promise<void> {
    const { store, clock } = bench;
    const records = open.records(bench, durability as Durability);
    const put = records.put('key', 1);
    await Promise.all([put, store.close(), store.close()]);
    await store.close();
    const closed = expect.objectContaining({ reason: 'closed', code: 'draining' });
    await expect(records.put('key', 2)).rejects.toEqual(closed);
    await expect(records.get('key')).rejects.toEqual(closed);
    expect(clock.waiting).toBe(0);
  }
}
