// Whether the orchestrator is there, for calls that wait for it. It says so itself when it comes; when it has gone it
// says nothing, so that the broker is asked as long as something waits. For so long, and no longer, it is waited for.
// When nothing but listening waits, and it was away for as long, the worker has no orchestrator any more.

import type { Clock } from '../../kernel/clock.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import type { OpenCall } from './open-call.ts';

export interface OrchestratorWatchParts {
  /** The mailbox of the orchestrator. */
  readonly to: string;
  readonly clock: Clock;
  /** How long it is waited for. */
  readonly patienceMs: number;
  /** Those that wait for an answer. */
  readonly calls: () => Iterable<OpenCall>;
  /** Which mailboxes have a link; undefined without a link of our own. Rejects if that ends. */
  readonly present: () => Promise<readonly string[]> | undefined;
  readonly giveUp: (call: OpenCall) => void;
  /** It was away for so long, and nothing waits for it but what listens. */
  readonly gaveUp: () => void;
  /** Called at each look; false: nothing waits any more. */
  readonly looks: () => boolean;
  readonly caught: Caught;
}

const lookEveryMs = 5_000;

export class OrchestratorWatch implements Disposable {
  readonly #parts: OrchestratorWatchParts;
  #looking: Disposable | undefined;
  /** When it was first seen to be away; undefined: it was there the last time. */
  #awaySince: number | undefined;

  constructor(parts: OrchestratorWatchParts) {
    this.#parts = parts;
  }

  [Symbol.dispose](): void {
    this.#looking?.[Symbol.dispose]();
  }

  /** Something waits from now on. */
  begin(): void {
    this.#looking ??= this.#parts.clock.after(
      lookEveryMs,
      () => {
        this.#looking = undefined;
        this.#look().catch(this.#parts.caught);
      },
      true,
    );
  }

  /** It is not there: this call fails if it does not come. */
  isAway(call: OpenCall): void {
    const { clock, patienceMs, giveUp } = this.#parts;
    if (!call.isListening) call.absence ??= clock.after(patienceMs, () => giveUp(call));
  }

  /** It is there, or the call does not wait any more. */
  isThere(call: OpenCall): void {
    call.absence?.[Symbol.dispose]();
    call.absence = undefined;
  }

  async #look(): Promise<void> {
    const { calls, present, looks, to } = this.#parts;
    if (!looks()) return;
    this.begin();
    // Without a link, or if it ends now, that is dealt with elsewhere.
    const there = await present()?.catch(ignored);
    if (there === undefined) return;
    const isThere = there.includes(to);
    for (const call of calls()) {
      if (!isThere) this.isAway(call);
      // One that the broker has taken is not sent again by a later link.
      else if (call.isSent || call.isTaken) this.isThere(call);
    }
    this.#note(isThere);
  }

  #note(isThere: boolean): void {
    const { clock, patienceMs, calls, gaveUp } = this.#parts;
    const now = clock.now();
    this.#awaySince = isThere ? undefined : (this.#awaySince ?? now);
    if (this.#awaySince === undefined || now - this.#awaySince < patienceMs) return;
    for (const { isListening } of calls()) if (!isListening) return;
    this.#awaySince = undefined;
    gaveUp();
  }
}
