// Compares what a database holds with what was told while it was written. A step that was done is there,
// or a later one over it; a step that was refused, or was under way at the end, may be there or not;
// nothing else is there. After damage something may be missing if the store says so, and what is there is
// still right. Where nothing was damaged, the store must not say that something is missing.

import type { Violation } from '../subjects/subject.ts';
import type { Contents, Reading } from './readings.ts';
import {
  counterKeys,
  recordKeys,
  type Step,
  type Workload,
  type Written,
  writtenBy,
} from './workload.ts';

/** A line of the writer. */
export interface Told {
  readonly step: number;
  readonly did: 'claimed' | 'done' | 'refused';
  /** Whether the store said that it works. What it keeps in memory only it says before. */
  readonly isWell?: boolean;
  readonly sequence?: number;
  readonly item?: number;
  readonly reason?: string;
}

/** `open`: it may have taken place. */
type Fate = 'done' | 'open';

interface Asked {
  readonly step: Step;
  readonly fate: Fate;
  readonly sequence: number | undefined;
}

/** What must and may be in the database. */
export class History {
  /** In the order in which they were asked; what was never asked is not among them. */
  readonly #asked: readonly Asked[];
  /** Items whose removal is done, or may have taken place. */
  readonly #removed: ReadonlyMap<number, Fate>;
  readonly done: number;

  constructor({ groups }: Workload, told: readonly Told[]) {
    const ends = new Map<number, Told>();
    const removed = new Map<number, Fate>();
    for (const one of told) {
      if (one.did !== 'claimed') ends.set(one.step, one);
      if (one.item !== undefined) removed.set(one.item, isDone(one) ? 'done' : 'open');
    }
    const asked: Asked[] = [];
    for (const group of groups) {
      for (const step of group) {
        const end = ends.get(step.step);
        asked.push({ step, fate: isDone(end) ? 'done' : 'open', sequence: end?.sequence });
      }
      if (group.some(({ step }) => !ends.has(step))) break;
    }
    this.#asked = asked;
    this.#removed = removed;
    this.done = asked.filter(({ fate }) => fate === 'done').length;
  }

  /** `isDamaged`: something was done to the files that a crash does not do. */
  judge(reading: Reading, isDamaged: boolean): readonly Violation[] {
    if (reading.kind === 'died') {
      return [{ wrong: 'died', text: `the process ended while it read: ${reading.detail}` }];
    }
    if (reading.kind === 'refused') {
      if (isDamaged) return [];
      return [{ wrong: 'start', text: `it cannot be opened: ${reading.detail}` }];
    }
    const { lost, phantoms } = this.#differences(reading);
    const found: Violation[] = phantoms.map((text) => ({ wrong: 'phantom', text }));
    if (!isDamaged) {
      found.push(...lost.map((text): Violation => ({ wrong: 'lost', text })));
      if (!reading.isWhole || !reading.isWell) {
        const text = `nothing was lost, and it says: ${reading.problems.join('; ')}`;
        found.push({ wrong: 'alarm', text });
      }
    } else if (lost.length > 0 && reading.problems.length === 0) {
      found.push({ wrong: 'unreported', text: lost.join('; ') });
    } else if (lost.length > 0 && reading.isWhole) {
      found.push({ wrong: 'unreported', text: `it says that it is whole: ${lost.join('; ')}` });
    }
    return found;
  }

  #differences(contents: Contents): Differences {
    const differences: Differences = { lost: [], phantoms: [] };
    for (const key of recordKeys) this.#record(key, contents, differences);
    for (const key of counterKeys) this.#count(key, contents, differences);
    this.#log(contents, differences);
    this.#queue(contents, differences);
    return differences;
  }

  #record(key: string, { records }: Contents, { lost, phantoms }: Differences): void {
    const own = this.#asked.filter(
      ({ step }) => 'key' in step && step.key === key && isOfRecords(step),
    );
    const last = own.findLastIndex(({ fate }) => fate === 'done');
    const allowed = own.slice(Math.max(0, last)).map(({ step }) => textAfter(step));
    if (last < 0) allowed.push(nothing);
    const found = records[`k${key}`] ?? { is: 'absent' };
    const text = found.is === 'there' ? JSON.stringify(found.value) : nothing;
    const where = `record ${JSON.stringify(key).slice(0, 20)}`;
    if (found.is === 'unreadable') lost.push(`${where} cannot be read`);
    else if (allowed.includes(text)) return;
    // What was there earlier has come back.
    else if (text === nothing || own.some(({ step }) => textAfter(step) === text)) {
      lost.push(`${where} is ${text.slice(0, 40)}, last done is ${own[last]?.step.step}`);
    } else phantoms.push(`${where} is ${text.slice(0, 80)}`);
  }

  #count(key: string, { counts }: Contents, { lost, phantoms }: Differences): void {
    let [least, most] = [0, 0];
    for (const { step, fate } of this.#asked) {
      if (step.kind !== 'take' || step.key !== key) continue;
      most += step.amount;
      if (fate === 'done') least += step.amount;
    }
    const found = counts[`k${key}`] ?? null;
    if (found === null) lost.push(`counter ${key} cannot be read`);
    else if (found < least) lost.push(`counter ${key} is ${found}, taken were ${least}`);
    else if (found > most) phantoms.push(`counter ${key} is ${found}, asked were ${most}`);
  }

  #log({ entries, next }: Contents, { lost, phantoms }: Differences): void {
    if (entries === null || next === null) {
      lost.push('the log cannot be read');
      return;
    }
    const known = new Map(this.#asked.map((one) => [one.step.step, one]));
    const seen = new Set<number>();
    for (const { sequence, value } of entries) {
      const own = known.get(value.step);
      const isRight = own?.step.kind === 'append' && isOf(own.step, value) && !seen.has(value.step);
      seen.add(value.step);
      const isItsNumber = own?.fate !== 'done' || own.sequence === sequence;
      if (!isRight || !isItsNumber) phantoms.push(`log ${sequence} is step ${value.step}`);
    }
    for (const { step, fate, sequence = 0 } of this.#asked) {
      if (step.kind !== 'append' || fate !== 'done') continue;
      if (!seen.has(step.step)) lost.push(`log ${sequence} of step ${step.step} is gone`);
      if (sequence >= next) lost.push(`log ${sequence} was given, next is ${next}`);
    }
  }

  #queue({ items, size }: Contents, { lost, phantoms }: Differences): void {
    if (items === null) {
      lost.push('the queue cannot be read');
      return;
    }
    const known = new Map(this.#asked.map(({ step }) => [step.step, step]));
    const seen = new Set<number>();
    for (const item of items) {
      const step = known.get(item.step);
      const isRight = step?.kind === 'enqueue' && isOf(step, item) && !seen.has(item.step);
      seen.add(item.step);
      if (!isRight) phantoms.push(`queue has step ${item.step}`);
      else if (this.#removed.get(item.step) === 'done') lost.push(`ack of ${item.step} is undone`);
    }
    for (const { step, fate } of this.#asked) {
      if (step.kind !== 'enqueue' || fate !== 'done' || this.#removed.has(step.step)) continue;
      if (!seen.has(step.step)) lost.push(`queue has lost step ${step.step}`);
    }
    if (size !== items.length) lost.push(`the queue says ${size} items and gives ${items.length}`);
  }
}

interface Differences {
  readonly lost: string[];
  readonly phantoms: string[];
}

const nothing = 'nothing';

function isDone(told: Told | undefined): boolean {
  return told?.did === 'done' && told.isWell === true;
}

function isOfRecords({ kind }: Step): boolean {
  return kind === 'put' || kind === 'remove';
}

/** What the record is after the step. */
function textAfter(step: Step): string {
  return step.kind === 'put' ? JSON.stringify(writtenBy(step.step, step.pad)) : nothing;
}

function isOf({ step, pad }: { readonly step: number; readonly pad: number }, value: Written) {
  return JSON.stringify(writtenBy(step, pad)) === JSON.stringify(value);
}
