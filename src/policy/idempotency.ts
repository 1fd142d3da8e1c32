// Idempotency keys: a call that is repeated from outside (after a lost connection, a crash of the
// host, an early retry) runs once. The first use of a key claims it before anything is executed;
// later callers with the same key join the execution, or get its answer, for 24 hours, or for as long as
// the transport says that gave the key. Only a fault
// of a call that was certainly not sent, or an answer that says so, frees the key again. The invariant: if a claim is found but
// no answer, the outcome is unknown, and nothing runs. The store keeps the claims; the pipeline
// computes the fingerprint that decides which requests are equal. A caller that cancels leaves
// without affecting the others. When the last one has left, an execution that was not sent yet is
// cancelled, and the key is free; one that may have been sent continues, and its answer is kept.

import { CancelSignal, type Signal } from '../kernel/cancel-signal.ts';
import { Fault, type FaultRecord } from '../kernel/fault.ts';
import {
  badKey,
  gaveUp,
  isKey,
  lostSight,
  notKnown,
  replayed,
  terminalFault,
} from './keyed-faults.ts';
import type { KeyedWait } from './keyed-wait.ts';
import type { Principal } from './principal.ts';

export type KeyedOutcome =
  /** Claimed; there is no answer yet, or the process was lost before there was one. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'result'; readonly bytes: Buffer }
  | { readonly kind: 'fault'; readonly record: FaultRecord }
  /** It was answered, but the answer was removed to make room. */
  | { readonly kind: 'dropped' };

export interface KeyedRecord {
  /** The principal that owns the key. */
  readonly owner: string;
  readonly fingerprint: string;
  readonly outcome: KeyedOutcome;
}

/**
 * The required interface of a store. Several processes may share one, so the claim must be atomic.
 */
export interface KeyedStore {
  /**
   * Puts the record if the slot is free, and resolves to undefined; otherwise resolves to the
   * existing record. Where others share the store, it may wait for the call of one of them.
   */
  claim(
    slot: string,
    record: KeyedRecord,
    ttlMs: number,
    wait?: KeyedWait,
  ): Promise<KeyedRecord | undefined>;
  /** Replaces the existing record; its time starts again. */
  put(slot: string, record: KeyedRecord, ttlMs: number): Promise<void>;
  free(slot: string): Promise<void>;
  /** The process ends: what could not be stored before is tried once more. */
  close?(): Promise<void>;
}

/**
 * Executes the call. `callOff`: no caller waits any more; it cancels the call only if it was not
 * sent.
 */
export type KeyedExecution = (callOff: Signal) => Promise<Buffer>;

/** The id by which a transport may bring a call again. */
export interface CallId {
  readonly id: string;
  /** How long it has to be known: it does not come after that. */
  readonly knownMs: number;
  /** It was brought before, and only its outcome is asked for: if it is not known any more, it does not run. */
  readonly isAgain?: boolean | undefined;
}

/** A caller that may cancel. */
export interface KeyedCaller {
  readonly signal: Signal | undefined;
  /** Whether the server may have received the execution that this caller started. */
  hasLeft(): boolean;
  /** Whether that execution was answered with: it has not run. Absent: it was not. */
  isUnrun?(): boolean;
  /** It asks for the outcome of an earlier call, and runs nothing. */
  readonly isAgain?: boolean | undefined;
  /** How long another process may take that runs it; absent: as long as any call. */
  readonly withinMs?: number | undefined;
}

/** One use of a key, and where it is stored. */
interface Claim {
  readonly slot: string;
  readonly key: string;
  readonly owner: string;
  readonly fingerprint: string;
  readonly keptMs: number;
}

interface Run {
  readonly hasLeft: () => boolean;
  /** Another process was seen to have claimed it. */
  isElsewhere: boolean;
  readonly answer: Promise<Buffer>;
  readonly callOff: CancelSignal;
  waiting: number;
}

/** How long a key that a client has given is kept. */
export const clientKeyMs = 24 * 60 * 60 * 1000;

export class IdempotencyKeys {
  readonly #store: KeyedStore;
  readonly #report: (failure: unknown) => void;
  /** Running executions: bounded by the queues and slots of their servers. */
  readonly #running = new Map<string, Run>();

  /** `report` is called if the store could not keep an answer; the caller still gets the answer. */
  constructor(store: KeyedStore, report: (failure: unknown) => void) {
    this.#store = store;
    this.#report = report;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Resolves to the result's bytes, which all callers share and none may write to. */
  run(
    principal: Principal,
    key: unknown,
    fingerprint: string,
    execute: KeyedExecution,
    caller?: KeyedCaller,
    keptMs: number = clientKeyMs,
  ): Promise<Buffer> {
    if (!isKey(key)) return Promise.reject(badKey(key));
    const signal = caller?.signal;
    if (signal?.aborted) return Promise.reject(gaveUp('no', signal.reason));
    const slot = `${principal.id.length}:${principal.id}:${key}`;
    // Only equal requests join here. Different ones meet at the store's claim, which knows whose
    // fingerprint has the key.
    const flight = `${fingerprint.length}:${fingerprint}:${slot}`;
    const running = this.#running.get(flight);
    if (running !== undefined) {
      if (!isBeingCalledOff(running)) return waitFor(running, signal);
      const again = () => this.run(principal, key, fingerprint, execute, caller, keptMs);
      return running.answer.then(again, again);
    }
    const callOff = new CancelSignal();
    const claim = { slot, key, owner: principal.id, fingerprint, keptMs };
    const wait = {
      signal: callOff,
      withinMs: caller?.withinMs,
      // Never before the first turn has ended.
      seen: (isElsewhere: boolean) => {
        run.isElsewhere = isElsewhere;
      },
    };
    const isUnrun = () => caller?.isUnrun?.() ?? false;
    const begin = () => execute(callOff);
    const work = caller?.isAgain ? () => Promise.reject(notKnown()) : begin;
    const answer = this.#answer(claim, work, wait, isUnrun).finally(() => {
      this.#running.delete(flight);
    });
    const hasLeft = () => caller?.hasLeft() ?? true;
    const run: Run = { hasLeft, isElsewhere: false, answer, callOff, waiting: 0 };
    this.#running.set(flight, run);
    return waitFor(run, signal);
  }

  async #answer(
    claim: Claim,
    execute: () => Promise<Buffer>,
    wait: KeyedWait,
    isUnrun: () => boolean,
  ): Promise<Buffer> {
    const { slot, key, owner, fingerprint } = claim;
    const begun: KeyedRecord = { owner, fingerprint, outcome: { kind: 'begun' } };
    const found = await this.#claimed(claim, begun, wait);
    if (found !== undefined) return replayed(found, key, fingerprint);
    let bytes: Buffer;
    try {
      bytes = await execute();
    } catch (thrown) {
      const fault = terminalFault(thrown);
      if (fault.dispatched === 'no' || isUnrun()) await this.#free(slot);
      else await this.#keep(claim, { kind: 'fault', record: fault.record });
      throw fault;
    }
    if (isUnrun()) await this.#free(slot);
    else await this.#keep(claim, { kind: 'result', bytes });
    return bytes;
  }

  /** Another process that was seen to have the call may have run it, however the wait for it ends. */
  async #claimed(
    { slot, key, keptMs }: Claim,
    begun: KeyedRecord,
    wait: KeyedWait,
  ): Promise<KeyedRecord | undefined> {
    let isElsewhere = false;
    const seen = (isSeen: boolean) => {
      isElsewhere = isSeen;
      wait.seen?.(isSeen);
    };
    try {
      // As long as it may run, and then as long as its answer: who asks meanwhile finds that it was begun.
      const heldMs = keptMs + Math.min(wait.withinMs ?? 0, clientKeyMs);
      return await this.#store.claim(slot, begun, heldMs, { ...wait, seen });
    } catch (error) {
      const isCertain = error instanceof Fault && error.dispatched !== 'no';
      throw isElsewhere && !isCertain ? lostSight(key, error) : error;
    }
  }

  /** The process ends. */
  async close(): Promise<void> {
    await this.#store.close?.();
  }

  // The call has its answer, and a failing store must not take it away. The record still says
  // `begun`, so that a retry ends in "unknown" instead of running a second time.
  async #keep({ slot, owner, fingerprint, keptMs }: Claim, outcome: KeyedOutcome): Promise<void> {
    try {
      await this.#store.put(slot, { owner, fingerprint, outcome }, keptMs);
    } catch (failure) {
      this.#report(failure);
    }
  }

  async #free(slot: string): Promise<void> {
    try {
      await this.#store.free(slot);
    } catch (failure) {
      this.#report(failure);
    }
  }
}

/** Its last caller has left before it was sent: it ends in a moment, and the key is free. */
function isBeingCalledOff({ callOff, hasLeft }: Run): boolean {
  return callOff.aborted && !hasLeft();
}

/** The answer, or the fault that this caller cancelled. */
function waitFor(run: Run, signal: Signal | undefined): Promise<Buffer> {
  run.waiting += 1;
  if (signal === undefined) return run.answer;
  return new Promise((resolve, reject) => {
    const leave = () => {
      run.waiting -= 1;
      const mayRun = run.waiting > 0 || run.isElsewhere || run.hasLeft();
      reject(gaveUp(mayRun ? 'maybe' : 'no', signal.reason));
      if (run.waiting === 0) run.callOff.abort(signal.reason);
    };
    const stay = () => signal.removeEventListener('abort', leave);
    signal.addEventListener('abort', leave, { once: true });
    run.answer.finally(stay).then(resolve, reject).catch(reject);
  });
}
