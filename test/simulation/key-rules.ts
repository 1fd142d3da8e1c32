// The rules about idempotency keys over any number of lives of the host. What was answered once under
// a key is answered so again, by every later process on the same store, and is not run again; it is
// unknown only if the store itself has said that it could not keep or read it, or never was to. That
// nothing runs twice is judged with all other calls, by the servers' ledger.

import type { FaultCode } from '../../src/kernel/fault.ts';
import type { Violated } from './call-rules.ts';
import { type CallRecord, describe } from './calls.ts';
import { answersName, type KeyPlace } from './fleet.ts';
import type { World } from './world.ts';

/** An answer that a caller was given under a key. */
interface Acknowledged {
  readonly run: number;
  readonly life: number;
  readonly leaps: number;
}

/** A caller can be turned away before anybody looks at its key, or when nobody can look at it. */
const refusals: ReadonlySet<FaultCode> = new Set([
  'overloaded',
  'draining',
  'cancelled',
  'denied',
  'not_found',
  'invalid_request',
  'budget_exceeded',
]);

export class KeyRules {
  readonly #world: World;
  readonly #place: KeyPlace;
  readonly #violated: Violated;
  /** By principal, key and nonce. */
  readonly #answers = new Map<string, Acknowledged>();
  #life = 0;

  constructor(world: World, place: KeyPlace, violated: Violated) {
    this.#world = world;
    this.#place = place;
    this.#violated = violated;
  }

  lifeBegins(): void {
    this.#life += 1;
  }

  /** `run`: the execution that it was answered with; `code`: the fault it ended in. */
  ended(record: CallRecord, run: number | undefined, code: FaultCode | undefined): void {
    const { principal, key, nonce } = record.plan;
    if (key === undefined) return;
    const name = JSON.stringify([principal.id, key, nonce]);
    const known = this.#answers.get(name);
    if (record.plan.isRepeated) this.#countRepeat(run, known, code);
    if (known === undefined || this.#world.clock.leaps > known.leaps) {
      if (run === undefined) return;
      const { leaps } = this.#world.clock;
      this.#answers.set(name, { run, life: this.#life, leaps });
      return;
    }
    if (run === known.run || (run === undefined && code && refusals.has(code))) return;
    if (code === 'outcome_unknown' && this.#mayBeUnknown(record, known)) return;
    const was = `${describe(record)} was answered with run ${known.run}`;
    this.#violated('idempotency-key', `${was}, and now ended in ${code ?? `run ${run}`}`);
  }

  #mayBeUnknown({ plan }: CallRecord, { life }: Acknowledged): boolean {
    if (this.#place === 'memory') return false;
    const { id } = plan.principal;
    const slot = `${id.length}:${id}:${plan.key}`;
    const { database } = this.#world;
    if (database.isTroubled('keys', slot) || database.isTroubled(answersName, slot)) return true;
    return this.#place === 'without-answers' && life !== this.#life;
  }

  #countRepeat(
    run: number | undefined,
    known: Acknowledged | undefined,
    code: FaultCode | undefined,
  ): void {
    this.#world.happenings.add('keys repeated to the next process');
    if (run !== undefined && run === known?.run)
      this.#world.happenings.add('keyed answers given again');
    if (code === 'outcome_unknown') this.#world.happenings.add('keyed outcomes unknown');
  }
}
