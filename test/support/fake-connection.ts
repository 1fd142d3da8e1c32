// Connections that exist only in a test, and the making of them: a test sees every attempt to
// connect and decides when and how it ends, so that each order of events can be told as a story.

import { Fault } from '../../src/kernel/fault.ts';
import type { Connect } from '../../src/supervise/supervised.ts';
import type { Described } from '../../src/supervise/supervisor.ts';

export class FakeConnection implements Described {
  readonly era = 'modern';
  readonly protocolVersion = '2026-07-28';
  readonly pid = 4711;
  readonly generation: number;
  /** The reason of every close, in order. */
  readonly closes: string[] = [];
  /** Ends a close that `isSlow` holds back. */
  finishClose: (swept?: number) => void = () => {};
  failClose: (error: Error) => void = () => {};
  /** Answers the open probe. */
  answerProbe: (isAlive: boolean) => void = () => {};
  failProbe: (error: Error) => void = () => {};
  isSlow = false;
  probes = 0;
  #closing: Promise<number> | undefined;

  constructor(generation: number) {
    this.generation = generation;
  }

  close(reason: string): Promise<number> {
    this.closes.push(reason);
    if (!this.isSlow) return Promise.resolve(0);
    this.#closing ??= new Promise((resolve, reject) => {
      this.finishClose = (swept = 0) => resolve(swept);
      this.failClose = reject;
    });
    return this.#closing;
  }

  probe(): Promise<boolean> {
    this.probes += 1;
    return new Promise((resolve, reject) => {
      this.answerProbe = resolve;
      this.failProbe = reject;
    });
  }
}

/** One attempt to connect. When it is aborted it rejects with the reason, unless it is stubborn. */
export class Attempt {
  readonly generation: number;
  readonly signal: AbortSignal;
  readonly connection: FakeConnection;
  readonly lose: (cause?: Fault) => void;
  isStubborn = false;
  #resolve: (connection: FakeConnection) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  readonly outcome: Promise<FakeConnection>;

  constructor(generation: number, signal: AbortSignal, lost: (cause: Fault) => void) {
    this.generation = generation;
    this.signal = signal;
    this.connection = new FakeConnection(generation);
    this.lose = (cause = exitFault()) => lost(cause);
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    signal.addEventListener('abort', () => {
      if (!this.isStubborn) this.#reject(signal.reason);
    });
  }

  arrive(): void {
    this.#resolve(this.connection);
  }

  fail(fault: unknown = exitFault()): void {
    this.#reject(fault);
  }
}

export class Connector {
  readonly attempts: Attempt[] = [];

  readonly connect: Connect<FakeConnection> = (generation, signal, lost) => {
    const attempt = new Attempt(generation, signal, lost);
    this.attempts.push(attempt);
    return attempt.outcome;
  };

  /** The latest attempt. */
  get last(): Attempt {
    const attempt = this.attempts.at(-1);
    if (!attempt) throw new Error('nothing was started');
    return attempt;
  }
}

export function exitFault(): Fault {
  return new Fault('unavailable', 'files exited with code 1', { dispatched: 'maybe' });
}
