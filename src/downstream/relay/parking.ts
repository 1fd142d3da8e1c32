// The table of parked calls. A modern client cannot be asked in the middle of a call, but a legacy
// server asks exactly then. So the call is parked: its client gets `input_required` with the
// question and a sealed state, and when it repeats the call with the answer, the question is
// answered and the call continues. This file stores parked calls and decides who may continue one;
// parked-call.ts is one of them.

import type { ClientAnswer, Question } from '../../host/connections/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ownerIdIn } from '../../policy/principal.ts';
import type { Incoming } from '../incoming.ts';
import { unknownState } from '../refusals.ts';
import { KeptOutcomes } from './kept-outcomes.ts';
import { type Deliver, ParkedCall, type ParkedState, requestFingerprint } from './parked-call.ts';
import type { Seal } from './seal.ts';

export class Parking {
  readonly #clock: Clock;
  readonly #seal: Seal;
  readonly #replica: string | undefined;
  readonly #caught: (error: unknown) => void;
  /**
   * Calls that are under way, each in its server's place or one of a bounded number that its client
   * is asked for (roots-room), and a bounded number that have ended (kept-outcomes).
   */
  readonly #byId = new Map<string, ParkedCall>();
  /** The same by the request that began them; each ends with its request. */
  readonly #byCaller = new WeakMap<object, ParkedCall>();
  readonly #kept = new KeptOutcomes();

  /** `caught` receives an unexpected error; `replica` is this one, where there are several. */
  constructor(clock: Clock, seal: Seal, caught: (error: unknown) => void, replica?: string) {
    this.#clock = clock;
    this.#seal = seal;
    this.#replica = replica;
    this.#caught = caught;
  }

  /** Calls that wait for their clients. */
  get size(): number {
    return this.#byId.size;
  }

  /** A server sends a request inside this call. */
  ask(caller: Incoming, question: Question): Promise<ClientAnswer> {
    let call = this.#byCaller.get(caller);
    if (!call) {
      const [clock, seal, replica, caught] = [this.#clock, this.#seal, this.#replica, this.#caught];
      const edges = { clock, seal, replica, caught };
      call = new ParkedCall(caller, edges, (forgotten) => {
        this.#byId.delete(forgotten.id);
        this.#kept.remove(forgotten);
      });
      this.#byCaller.set(caller, call);
      if (!call.hasBeenGivenUp) this.#byId.set(call.id, call);
    }
    return call.ask(question);
  }

  /** Whether the outcome of this call may be given out more than once. */
  isParked(caller: Incoming): boolean {
    return this.#byCaller.has(caller);
  }

  /** The call itself has ended, with so many bytes: passed to whoever waits for it now. */
  ended(caller: Incoming, deliver: Deliver, bytes: number): void {
    const call = this.#byCaller.get(caller);
    if (!call) return deliver(caller);
    call.ended(deliver);
    if (this.#byId.has(call.id)) this.#kept.add(call, bytes);
  }

  /** Whether this is one of our states. Then the request is handled here, to its end. */
  resume(incoming: Incoming, state: unknown, fingerprint: string): boolean {
    if (!isParkedState(state)) return false;
    const call = this.#byId.get(state.parked);
    const isIts = state.principal === incoming.principal.id && call?.fingerprint === fingerprint;
    if (!call || !isIts) {
      const why =
        'requestState does not belong to this request, or has expired; if the call may be repeated, send it again without it';
      incoming.error(unknownState(why));
    } else call.resume(incoming, state.round);
    return true;
  }

  /**
   * A client that has lost the question sends the call again, with the same key and without a state:
   * it is asked the same again. Whether that is the case; then the request is handled.
   */
  askAgain(incoming: Incoming, key: unknown): boolean {
    if (typeof key !== 'string') return false;
    for (const call of this.#byId.values()) {
      if (call.key !== key || call.principal !== incoming.principal.id) continue;
      if (call.fingerprint === requestFingerprint(incoming) && call.askAgain(incoming)) return true;
    }
    return false;
  }

  /** Over HTTP a client is a principal: gives up the calls of those whose access has ended, by id. */
  endAccess(ids: ReadonlySet<string>): void {
    for (const call of [...this.#byId.values()]) {
      if (ids.has(ownerIdIn(call.client))) call.giveUp();
    }
  }

  /** Gives up the calls whose clients are asked what they may not hear any more. */
  policyChanged(isHeard: (call: Incoming) => boolean): void {
    for (const call of [...this.#byId.values()]) {
      if (call.isAsking && !isHeard(call.caller)) call.giveUp();
    }
  }

  close(): void {
    for (const call of this.#byId.values()) call.giveUp();
  }
}

export function isParkedState(state: unknown): state is ParkedState {
  return typeof state === 'object' && state !== null && 'parked' in state && 'round' in state;
}
