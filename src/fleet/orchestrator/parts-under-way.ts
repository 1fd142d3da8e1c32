// Which parts of answers were told by one link and have not left this process yet. A worker that pulls has a limited
// number of them, and a link that sends more slowly than it is given parts gets no more: what a worker asks for
// with a small letter must not fill the memory of the orchestrator. What is refused here is asked for again later.

import { OwnerCounts } from '../../kernel/owner-counts.ts';

interface UnderWay {
  readonly worker: string;
  /** What had been told by this link with it, in bytes. */
  readonly end: number;
}

export interface PartsLimits {
  /** Far more than one process of a worker asks for at once: a link may learn late what has left (NATS: 20 ms). */
  readonly ofWorker: number;
  /** Waiting to be sent on the link, whatever it is. */
  readonly backlogBytes: number;
}

export const usualPartsLimits: PartsLimits = { ofWorker: 128, backlogBytes: 64 * 1024 * 1024 };

export class PartsUnderWay {
  readonly #limits: PartsLimits;
  /** Oldest first; at most `ofWorker` for each worker. */
  #parts: UnderWay[] = [];
  /** By worker; only those that have any of the parts above. */
  readonly #counts = new OwnerCounts();
  #told = 0;

  constructor(limits: PartsLimits = usualPartsLimits) {
    this.#limits = limits;
  }

  /** Whether a part may be told now; then it is under way. `backlogBytes`: what waits to be sent on the link. */
  add(worker: string, bytes: number, backlogBytes: number): boolean {
    this.#haveLeft(this.#told - backlogBytes);
    const isMany = this.#counts.of(worker) >= this.#limits.ofWorker;
    if (isMany || backlogBytes > this.#limits.backlogBytes) return false;
    this.#told += bytes;
    this.#parts.push({ worker, end: this.#told });
    this.#counts.add(worker);
    return true;
  }

  /** What waits is sent in its order, so that so many bytes of parts at least are gone. */
  #haveLeft(bytes: number): void {
    const waiting = this.#parts.findIndex(({ end }) => end > bytes);
    const gone = this.#parts.splice(0, waiting < 0 ? this.#parts.length : waiting);
    for (const { worker } of gone) this.#counts.remove(worker);
  }
}
