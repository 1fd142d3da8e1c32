// How long one call may take: from its first dispatch, over all its attempts. Progress extends the
// time, but never beyond the call's absolute end; so does waiting for the client itself, if the
// server has sent it a request. One timer per call, set again only when it fires early; before the
// first dispatch there is no deadline.

import type { Clock } from '../../kernel/clock.ts';
import type { ProgressListener } from '../../upstream/exchange.ts';

/** Told when the time is up. */
export interface DeadlineListener {
  expired(): void;
  progressed(params: Buffer): void;
}

export class CallDeadline implements ProgressListener {
  readonly #clock: Clock;
  readonly #callTimeoutMs: number;
  readonly #maxCallMs: number;
  readonly #listener: DeadlineListener;
  #timer: Disposable | undefined;
  #endsAt = 0;
  #latestEnd = 0;
  #held = 0;

  constructor(clock: Clock, callTimeoutMs: number, maxCallMs: number, listener: DeadlineListener) {
    this.#clock = clock;
    this.#callTimeoutMs = callTimeoutMs;
    this.#maxCallMs = maxCallMs;
    this.#listener = listener;
  }

  /** Without progress. */
  get limitMs(): number {
    return this.#callTimeoutMs;
  }

  /** The first dispatch starts the time; later ones change nothing. */
  begin(): void {
    if (this.#timer) return;
    const now = this.#clock.now();
    this.#endsAt = now + this.#callTimeoutMs;
    this.#latestEnd = now + this.#maxCallMs;
    this.#arm(this.#callTimeoutMs);
  }

  progressed(params: Buffer): void {
    this.#extend();
    this.#listener.progressed(params);
  }

  /** The client is waited for now, not the server. */
  hold(): void {
    this.#held += 1;
  }

  release(): void {
    this.#held -= 1;
    this.#extend();
  }

  #extend(): void {
    const extended = this.#clock.now() + this.#callTimeoutMs;
    this.#endsAt = Math.min(Math.max(this.#endsAt, extended), this.#latestEnd);
  }

  end(): void {
    this.#timer?.[Symbol.dispose]();
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.after(ms, this.#fired);
  }

  readonly #fired = () => {
    if (this.#held > 0) this.#extend();
    const leftMs = this.#endsAt - this.#clock.now();
    if (leftMs > 0) this.#arm(leftMs);
    else this.#listener.expired();
  };
}
