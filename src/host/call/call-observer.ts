// Observes requests: when each began, which stages it passed, how it ended, and its principal.
// Events, counters and health are computed only from this, so they always agree. A request that the
// gateway answers itself is observed in the same way as a call to a server. Observers are our own
// code, run in the path of every call and must not wait; one that throws is contained.

import type { Fault, FaultCode } from '../../kernel/fault.ts';
import type { Principal } from '../../policy/principal.ts';
import type { Operation } from './operation.ts';

export interface ObservedCall {
  readonly request: {
    readonly principal: Principal;
    /** Null where the gateway answers itself. */
    readonly server: string | null;
    readonly operation: Pick<Operation, 'method' | 'kind' | 'name'>;
  };
  /** By the host's clock. */
  readonly startedAt: number;
  readonly attempts: number;
  readonly replays: number;
  /** Of the connection that it was sent on last. */
  readonly generation: number | null;
}

export type CallStage =
  /** The guard has allowed it. */
  | 'authorized'
  /** It has a slot of its server. */
  | 'admitted'
  /** It is passed to a connection, the first time or again. */
  | 'dispatched'
  /** It may have run and is repeated, because it is safe to repeat. */
  | 'replayed';

/** `is_error`: the tool's own error. `cached`: nothing was asked of the server for it. */
export type CallOutcome = 'ok' | 'is_error' | 'cached' | FaultCode;

export interface CallObserver {
  began?(call: ObservedCall): void;
  stage?(call: ObservedCall, stage: CallStage): void;
  /** `fault` is there when the outcome is its code. */
  ended?(call: ObservedCall, outcome: CallOutcome, fault: Fault | undefined): void;
}

/** All observers of a host as one. */
export class CallObservers implements Required<CallObserver> {
  readonly #caught: (error: unknown) => void;
  /** One for each interface of the host; until they are disposed of. */
  #observers: readonly CallObserver[];
  /** Observers of stages: few, because there are several stages for each call. */
  #ofStages: readonly CallObserver[];

  /** `caught` receives the error of an observer that throws. */
  constructor(observers: readonly CallObserver[], caught: (error: unknown) => void) {
    this.#caught = caught;
    this.#observers = observers;
    this.#ofStages = observers.filter(({ stage }) => stage !== undefined);
  }

  add(observer: CallObserver): Disposable {
    this.#set([...this.#observers, observer]);
    return {
      [Symbol.dispose]: () => this.#set(this.#observers.filter((one) => one !== observer)),
    };
  }

  #set(observers: readonly CallObserver[]): void {
    this.#observers = observers;
    this.#ofStages = observers.filter(({ stage }) => stage !== undefined);
  }

  began(call: ObservedCall): void {
    for (const observer of this.#observers) {
      try {
        observer.began?.(call);
      } catch (error) {
        this.#caught(error);
      }
    }
  }

  stage(call: ObservedCall, stage: CallStage): void {
    for (const observer of this.#ofStages) {
      try {
        observer.stage?.(call, stage);
      } catch (error) {
        this.#caught(error);
      }
    }
  }

  ended(call: ObservedCall, outcome: CallOutcome, fault: Fault | undefined): void {
    for (const observer of this.#observers) {
      try {
        observer.ended?.(call, outcome, fault);
      } catch (error) {
        this.#caught(error);
      }
    }
  }
}
