// The parts of large answers that workers pull: which of those that are asked for are sent. A part is sent again soon
// only for a worker that has lost its link with it and asks at once by the next; otherwise not within a second: a worker
// that misses a part looks every five seconds. How many are under way is bounded (`parts-under-way.ts`).

import type { Link } from '../../broker/contract.ts';
import type { Clock } from '../../kernel/clock.ts';
import { partBytes } from '../parcel.ts';
import type { BrokeredCall } from './brokered-call.ts';
import { PartsUnderWay } from './parts-under-way.ts';

interface Sent {
  readonly link: Link;
  readonly since: number;
  readonly times: number;
}

/** Counted from the first of them. */
const againMs = 1_000;
/** Of the same part within that time, by one link. */
const mostTimes = 2;

export class PulledParts {
  readonly #clock: Clock;
  /** By offset, one for each part of an answer at most; gone with the call. */
  readonly #sent = new WeakMap<BrokeredCall, Map<number, Sent>>();
  /** Gone with the link. */
  readonly #underWay = new WeakMap<Link, PartsUnderWay>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the part of this answer at this place is to be sent now; then it counts as sent. */
  take(link: Link, call: BrokeredCall, answer: Buffer, offset: number): boolean {
    if (offset % partBytes !== 0) return false;
    const sent = this.#sent.get(call) ?? new Map<number, Sent>();
    const next = this.#next(link, sent.get(offset));
    if (next.times > mostTimes) return false;
    const underWay = this.#underWay.get(link) ?? new PartsUnderWay();
    this.#underWay.set(link, underWay);
    const bytes = Math.min(partBytes, answer.length - offset);
    if (!underWay.add(call.worker, bytes, link.backlogBytes)) return false;
    this.#sent.set(call, sent.set(offset, next));
    return true;
  }

  #next(link: Link, last: Sent | undefined): Sent {
    const now = this.#clock.now();
    const isSoon = last?.link === link && now - last.since < againMs;
    return isSoon ? { ...last, times: last.times + 1 } : { link, since: now, times: 1 };
  }
}
