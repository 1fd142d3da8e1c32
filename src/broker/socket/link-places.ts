// How many links a broker has room for, and whose they are. A place is taken before the link is opened, so that links
// that never say hello count, too. A mailbox has at most a number, and three times as many as are left: however many
// mailboxes take what they can get, some are left for one that has few. The last places are for orchestrators, without
// which nobody is served. All links of a worker have one rate together.

import type { Clock } from '../../kernel/clock.ts';
import type { Identity } from '../identity.ts';
import { FrameRate } from './frame-rate.ts';

export interface LinkPlacesLimits {
  readonly maxLinks: number;
  /** Members of one mailbox. */
  readonly maxSeats: number;
}

export interface LinkPlace {
  readonly rate: FrameRate;
  /** Its link has ended; once. */
  leave(): void;
}

export const usualMaxLinks = 4_096;
/** One of so many places is for orchestrators only. */
const oneForOrchestrators = 16;
/** A newer link may come before the older one in its seat is known to be gone. */
const moreThanSeats = 64;
/** A mailbox may have so many times the places that are left. */
const timesLeft = 3;

/** The links of one mailbox. */
interface Holding {
  links: number;
  readonly rate: FrameRate;
}

export class LinkPlaces {
  readonly #clock: Clock;
  readonly #limits: LinkPlacesLimits;
  /** By mailbox, one for each that has links, and until its rate is whole again, which takes half a second. */
  readonly #holdings = new Map<string, Holding>();
  #taken = 0;

  constructor(clock: Clock, limits: LinkPlacesLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Undefined: there is no room for it. */
  take({ mailbox, kind }: Identity): LinkPlace | undefined {
    this.#tidy();
    const holding = this.#holdings.get(mailbox) ?? { links: 0, rate: new FrameRate(this.#clock) };
    if (!this.#hasRoom(holding, kind)) return undefined;
    holding.links += 1;
    this.#taken += 1;
    this.#holdings.set(mailbox, holding);
    const leave = () => {
      holding.links -= 1;
      this.#taken -= 1;
    };
    // The links of an orchestrator are processes that work for many.
    return { leave, rate: kind === 'worker' ? holding.rate : new FrameRate(this.#clock) };
  }

  #hasRoom({ links }: Holding, kind: Identity['kind']): boolean {
    const { maxLinks, maxSeats } = this.#limits;
    const reserved = kind === 'worker' ? Math.ceil(maxLinks / oneForOrchestrators) : 0;
    const left = maxLinks - reserved - this.#taken;
    return links < maxSeats + moreThanSeats && links < timesLeft * left;
  }

  #tidy(): void {
    for (const [mailbox, { links, rate }] of this.#holdings) {
      if (links === 0 && rate.isWhole) this.#holdings.delete(mailbox);
    }
  }
}
