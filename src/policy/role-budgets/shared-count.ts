// One count of a budget that several replicas share: the record has what all of them have taken together, and is
// changed only from the state in which it was read, so that two of them never take the same. A replica takes a block at
// a time, and gives back at its end what is left of it. What the others have taken since the last time is returned, so
// that each knows how much is left. What cannot be taken, or not in time, is counted in memory and taken the next time.

import { type Clock, within } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { changeRecord } from '../../store/change-record.ts';
import type { Records } from '../../store/contract/records.ts';
import type { Together } from './account.ts';
import { type MarkedRules, nothingSpent, type Spent, spentKeptMs } from './budget-rules.ts';
import { storeMs } from './count-writer.ts';

export interface SharedCountParts {
  readonly records: Records;
  readonly clock: Clock;
  readonly caught: Caught;
  /** Whose count. */
  readonly key: string;
  readonly budget: MarkedRules;
}

export class SharedCount {
  readonly #parts: SharedCountParts;
  readonly #place: string;
  /** What this replica has taken. */
  #mine: Spent = nothingSpent;
  /** What others had taken, as the count of this replica was told. */
  #told: Spent = nothingSpent;
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: SharedCountParts) {
    this.#parts = parts;
    // Counts under other limits are apart: replicas learn of a change one after the other.
    this.#place = `${parts.key} ${parts.budget.mark}`;
  }

  /**
   * So much is to be taken by all together: more than before for a block, less where a part of one is given back. Never
   * rejects; undefined: it is not taken.
   */
  async take(wanted: Spent): Promise<Together | undefined> {
    const { clock, caught } = this.#parts;
    let together: Together | undefined;
    let isLate = false;
    const taking = this.#last
      .then(() => this.#take(wanted))
      .then((others) => {
        // Nobody waits for it any more: it is told the next time.
        if (!isLate) together = this.#tell(others);
      })
      .catch((error: unknown) => {
        if (!(error instanceof Fault)) caught(error);
      });
    this.#last = taking;
    await within(clock, storeMs, taking);
    isLate = true;
    return together;
  }

  #tell(others: Spent): Together {
    const more = minus(others, this.#told);
    this.#told = others;
    return { others: more, reserved: plus(this.#mine, others) };
  }

  /** Resolves to what others have taken. */
  async #take(wanted: Spent): Promise<Spent> {
    const { records, budget } = this.#parts;
    const take = (value: unknown) => {
      const before = spentIn(value);
      const after = this.#after(before, wanted);
      return { value: { mark: budget.mark, ...after }, result: { before, after } };
    };
    const ttl = { ttlMs: spentKeptMs };
    const { before, after } = await changeRecord(records, this.#place, take, ttl);
    const others = minus(before, this.#mine);
    this.#mine = plus(this.#mine, minus(after, before));
    return others;
  }

  #after(before: Spent, wanted: Spent): Spent {
    const more = minus(minus(wanted, this.#told), this.#mine);
    const { rules } = this.#parts.budget;
    const next = (kind: keyof Spent) => {
      const all = Math.max(0, before[kind] + more[kind]);
      const limit = rules[kind];
      // Beyond the limit no call is taken; what was received counts.
      if (limit === null || kind === 'bytes' || all <= limit) return all;
      return Math.max(before[kind], limit);
    };
    return { calls: next('calls'), bytes: next('bytes') };
  }
}

function plus(one: Spent, other: Spent): Spent {
  return { calls: one.calls + other.calls, bytes: one.bytes + other.bytes };
}

function minus(one: Spent, other: Spent): Spent {
  return { calls: one.calls - other.calls, bytes: one.bytes - other.bytes };
}

/** The shape of the records was checked when they were read. */
function spentIn(value: unknown): Spent {
  return value === undefined ? nothingSpent : (value as Spent);
}
