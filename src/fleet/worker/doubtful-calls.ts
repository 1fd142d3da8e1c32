// Kept calls of which it is not known whether the process of the orchestrator that has taken them is still there. As long
// as the letter of such a call lives, the next process gets it; after that nothing would ever be heard of the call, so
// that it is asked for by another letter, which begins nothing.

import type { Clock } from '../../kernel/clock.ts';
import { askAgainMs } from '../call-ids.ts';
import type { OpenCall } from './open-call.ts';

export interface DoubtfulCallsParts {
  readonly clock: Clock;
  /** Those that wait for an answer. */
  readonly calls: () => Iterable<OpenCall>;
  readonly hasLink: () => boolean;
  readonly sendAgain: (call: OpenCall) => void;
}

export class DoubtfulCalls {
  readonly #parts: DoubtfulCallsParts;

  constructor(parts: DoubtfulCallsParts) {
    this.#parts = parts;
  }

  /** The process that has taken them may be gone. */
  doubt(): void {
    for (const call of this.#parts.calls()) if (call.isKept && call.isTaken) call.isDoubtful = true;
  }

  /** For those whose letters are over. What is being downloaded was answered. */
  ask(): void {
    const { clock, calls, hasLink, sendAgain } = this.#parts;
    if (!hasLink()) return;
    const now = clock.now();
    for (const call of calls()) {
      const { isDoubtful, announcement, endsAt } = call;
      if (!isDoubtful || announcement !== undefined) continue;
      if (endsAt === undefined || endsAt > now) continue;
      call.endsAt = now + askAgainMs;
      sendAgain(call);
    }
  }
}
