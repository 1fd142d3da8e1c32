// Conducts the rollouts of this process: gives the machine its events, carries its effects out with the holder and
// with what hands over, sets its one timer, and tells those who asked. Nothing that goes wrong in a rollout ends this
// process; every failure is reported once and shown in the state. attempt.ts has the steps of one attempt.

import type { Clock } from '../kernel/clock.ts';
import type { Caught } from '../kernel/contain.ts';
import {
  Attempt,
  type AttemptParts,
  type HandedSummary,
  type HandOver,
  type HolderForRollout,
} from './attempt.ts';
import { initialRollout, rolloutDeadline, rolloutStep } from './rollout-machine.ts';
import type {
  FilesState,
  RolloutCause,
  RolloutEffect,
  RolloutEvent,
  RolloutMachineState,
  RolloutOutcome,
  RolloutPolicy,
} from './rollout-state.ts';
import type { SnapshotOrigin } from './snapshot.ts';

export interface Rolled extends HandedSummary {
  readonly kind: 'rolled';
  /** Versions of the program. */
  readonly from: string;
  readonly to: string;
  readonly holder: number;
  /** From its beginning until the successor served. */
  readonly tookMs: number;
  /** From the fence until the successor served: nothing new was accepted meanwhile. */
  readonly pauseMs: number;
}

export type RolloutResult = Rolled | Exclude<RolloutOutcome, { readonly kind: 'rolled' }>;

export interface ConductorParts {
  readonly clock: Clock;
  /** As it is now; `changed` says when it is another one. */
  readonly policy: () => RolloutPolicy;
  readonly holder: HolderForRollout;
  readonly handOver: HandOver;
  readonly origin: SnapshotOrigin;
  /** A rollout has ended; called once for each, whoever wanted it. */
  readonly report: (result: Rolled | Extract<RolloutOutcome, { readonly kind: 'failed' }>) => void;
  readonly caught: Caught;
  /** A successor was lost behind the fence; another one is being started. */
  readonly lost: (cause: RolloutCause) => void;
  /** Each step in a line, for whoever wants to see every one. */
  readonly progress?: ((text: string) => void) | undefined;
  /** Of the processes before this one. */
  readonly counted?: { readonly runs: number; readonly failures: number };
}

type Untimed<E> = E extends RolloutEvent ? Omit<E, 'at'> : never;

export class Conductor implements Disposable {
  readonly #parts: ConductorParts;
  #state: RolloutMachineState;
  #attempt: Attempt | undefined;
  /** The end of the attempt before. */
  #abandoning: Promise<void> = Promise.resolve();
  /** Those who ask, each until it is told: the control socket bounds how many ask at once. */
  readonly #waiting = new Map<number, (result: RolloutResult) => void>();
  #lastTicket = 0;
  #timer: Disposable | undefined;
  #isOver = false;

  constructor(parts: ConductorParts) {
    this.#parts = parts;
    this.#state = initialRollout(parts.counted);
  }

  get state(): RolloutMachineState {
    return this.#state;
  }

  /** Resolves when it is done, has failed, or cannot begin for longer than somebody waits. Never rejects. */
  ask(): Promise<RolloutResult> {
    this.#lastTicket += 1;
    const ticket = this.#lastTicket;
    return new Promise((resolve) => {
      this.#waiting.set(ticket, resolve);
      this.#say({ kind: 'asked', ticket });
    });
  }

  /** Nobody waits for the outcome: a signal, or a test hook. */
  request(): void {
    this.#say({ kind: 'asked', ticket: null });
  }

  files(files: FilesState): void {
    this.#say({ kind: 'files', files });
  }

  /** This process serves. */
  serving(): void {
    this.#say({ kind: 'serving' });
  }

  /** How many former processes still end their work. */
  formers(count: number): void {
    this.#say({ kind: 'formers', count });
  }

  /** This instance ends: nothing is begun any more. */
  shutdown(): void {
    this.#say({ kind: 'shutdown' });
  }

  /** The policy has changed. */
  changed(): void {
    this.#say({ kind: 'policy' });
  }

  [Symbol.dispose](): void {
    this.shutdown();
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
    this.#tell([...this.#waiting.keys()], { kind: 'refused', why: 'shutdown' });
  }

  #say(event: Untimed<RolloutEvent>): void {
    if (this.#isOver) return;
    const { clock, policy } = this.#parts;
    const { failed } = this.#state;
    const timed = { ...event, at: clock.now() } as RolloutEvent;
    const [next, effects] = rolloutStep(this.#state, timed, policy());
    this.#state = next;
    if (next.failed !== null && next.failed !== failed) {
      const { cause, at } = next.failed;
      this.#parts.report({ kind: 'failed', cause, at });
    }
    for (const effect of effects) this.#carryOut(effect);
    this.#setTimer();
  }

  #setTimer(): void {
    this.#timer?.[Symbol.dispose]();
    const { clock, policy } = this.#parts;
    const due = rolloutDeadline(this.#state, policy());
    if (due === undefined) return;
    const ms = Math.max(0, due - clock.now());
    this.#timer = clock.after(ms, () => this.#say({ kind: 'tick' }), true);
  }

  #carryOut(effect: RolloutEffect): void {
    const { caught } = this.#parts;
    switch (effect.kind) {
      case 'start': {
        const { run, lost } = effect;
        this.#progress(run, 'a successor is started');
        const attempt = this.#newAttempt(run, lost === null ? undefined : this.#attempt);
        this.#attempt = attempt;
        if (lost !== null) this.#parts.lost(lost);
        // What the attempt before has handed over is back by then.
        this.#abandoning.then(() => attempt.start()).catch(caught);
        return;
      }
      case 'fence':
        this.#progress(effect.run, 'the successor is ready, nothing new begins here');
        this.#attempt?.fence().catch(caught);
        return;
      case 'abandon':
        this.#progress(effect.run, 'the successor is given up');
        this.#abandoning = this.#abandon(effect.run).catch(caught);
        return;
      case 'giveUp':
        this.#progress(effect.run, 'no successor has taken over');
        this.#attempt?.giveUp();
        return;
      case 'passOn': {
        this.#progress(effect.run, 'the successor serves');
        const { again, shutdown } = effect;
        this.#attempt?.passOn({ again, shutdown });
        this.#parts.report(this.#rolled());
        return;
      }
      case 'tell':
        this.#tell(effect.tickets, effect.outcome);
    }
  }

  #progress(run: number, text: string): void {
    this.#parts.progress?.(`rollout ${run}: ${text}`);
  }

  #newAttempt(run: number, before: Attempt | undefined): Attempt {
    const { clock, holder, handOver, origin, caught } = this.#parts;
    const parts: AttemptParts = {
      ...{ clock, holder, handOver, origin, caught },
      ready: () => this.#say({ kind: 'ready', run }),
      served: () => this.#say({ kind: 'served', run }),
      handed: (bytes) => this.#progress(run, `it is told in ${bytes} bytes what it takes over`),
      failed: (cause) => this.#say({ kind: 'failed', run, cause }),
    };
    return new Attempt(run, parts, before);
  }

  async #abandon(run: number): Promise<void> {
    const outcome = await this.#attempt?.abandon();
    this.#say({ kind: 'abandoned', run, outcome: outcome ?? 'ended' });
  }

  #tell(tickets: readonly number[], outcome: RolloutOutcome): void {
    const result = outcome.kind === 'rolled' ? this.#rolled() : outcome;
    for (const ticket of tickets) {
      this.#waiting.get(ticket)?.(result);
      this.#waiting.delete(ticket);
    }
  }

  #rolled(): Rolled {
    const { origin, holder, clock } = this.#parts;
    const { startedAt = 0, fencedAt = 0, servedAt = clock.now() } = this.#attempt ?? {};
    const { servers = 0, sessions = 0, left = [] } = this.#attempt?.summary ?? {};
    return {
      kind: 'rolled',
      from: origin.program,
      to: this.#attempt?.program ?? '',
      holder: holder.pid,
      tookMs: Math.round(servedAt - startedAt),
      pauseMs: Math.round(servedAt - fencedAt),
      ...{ servers, sessions, left },
    };
  }
}
