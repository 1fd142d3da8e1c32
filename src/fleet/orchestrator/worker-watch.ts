// Whether the workers whose requests run, or that something is kept for, are still there. A worker that may not be
// written to any more has lost its credential: that ends everything of its own. What was told, such as a subscription, and
// what is kept for a seat end when the seat has been empty for a while: a worker that was killed says nothing. The broker
// is asked, twice a second for workers while something runs, and otherwise rarely, as for seats; workers that have a link
// are asked about every five seconds: their name may have another credential now.

import type { BrokerError } from '../../broker/broker-error.ts';
import type { Letter, Link } from '../../broker/contract.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import { mailKinds } from '../mail-kinds.ts';

/** A request that runs, as far as it is watched. */
export interface WatchedCall {
  readonly worker: string;
  readonly seat: string;
  /** By which it was asked for, where the broker says it. */
  readonly credential: string | undefined;
  /** The broker keeps its letter. */
  readonly isKept: boolean;
}

/** The seat of a worker that something is kept for. */
export type WatchedSeat = Omit<WatchedCall, 'isKept'>;

export interface WorkerWatchParts {
  readonly clock: Clock;
  readonly running: () => readonly WatchedCall[];
  readonly seats: () => readonly WatchedSeat[];
  /** This credential of it is gone; undefined: whichever it had. */
  readonly revoked: (worker: string, credential: string | undefined) => void;
  /** Nobody is in this seat any more. */
  readonly left: (seat: WatchedSeat) => void;
  readonly caught: Caught;
}

const lookEveryMs = 500;
/** Workers that have a link are asked about in every so many looks. */
const looksForCredentials = 10;
/** Seats are looked at in every so many looks; while nothing runs, there are no others. */
const looksForSeats = 60;
/** A link may come back: longer than a worker tries. */
const emptyForMs = 60_000;
const nothing = Buffer.alloc(0);

export class WorkerWatch {
  readonly #parts: WorkerWatchParts;
  #link: Link | undefined;
  #timer: Disposable | undefined;
  /** Nothing runs: the next look is not soon. */
  #isResting = false;
  #looks = 0;
  /** Since when seats are empty, by worker, credential and seat; only those that were at the last look. */
  #emptySince: ReadonlyMap<string, number> = new Map();

  constructor(parts: WorkerWatchParts) {
    this.#parts = parts;
  }

  /** What is asked is asked by this link from now on. */
  use(link: Link): void {
    this.#link = link;
  }

  /** Something runs. */
  begin(): void {
    if (this.#isResting) this.#stop();
    this.#isResting = false;
    this.#timer ??= this.#parts.clock.after(lookEveryMs, () => this.#next(), true);
  }

  close(): void {
    this.#stop();
    this.#link = undefined;
  }

  #stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #next(): void {
    this.#timer = undefined;
    this.#looks += this.#isResting ? looksForSeats : 1;
    const running = this.#parts.running();
    const seats = this.#parts.seats();
    if (running.length > 0) this.begin();
    else if (seats.length > 0) this.#rest();
    else return;
    const isForSeats = this.#looks >= looksForSeats;
    if (isForSeats) this.#looks = 0;
    if (isForSeats) this.#lookAtSeats([...running.filter(({ isKept }) => !isKept), ...seats]);
    const workers = isForSeats ? [...running, ...seats] : running;
    this.#lookAtWorkers(workers).catch(this.#parts.caught);
  }

  #rest(): void {
    this.#isResting = true;
    const ms = lookEveryMs * looksForSeats;
    this.#timer = this.#parts.clock.after(ms, () => this.#next(), true);
  }

  async #lookAtWorkers(running: readonly WatchedSeat[]): Promise<void> {
    const link = this.#link;
    // Without a link, or if it ends now, nothing is known.
    const present = await link?.present().catch(ignored);
    if (present === undefined) return;
    const there = new Set(present);
    const isForAll = this.#looks % looksForCredentials === 0;
    for (const { worker, credential } of holders(running)) {
      if (there.has(worker) && !(isForAll && credential !== undefined)) continue;
      this.#ask(link, { to: worker, credential }, ({ reason }) => {
        if (reason === 'not_allowed') this.#parts.revoked(worker, credential);
      });
    }
  }

  #lookAtSeats(seats: readonly WatchedSeat[]): void {
    const before = this.#emptySince;
    const empty = new Map<string, number>();
    this.#emptySince = empty;
    const now = this.#parts.clock.now();
    const asked = new Set<string>();
    for (const { worker, credential, seat } of seats) {
      const place = `${worker} ${credential} ${seat}`;
      if (asked.has(place)) continue;
      asked.add(place);
      const since = before.get(place) ?? now;
      this.#ask(this.#link, { to: worker, credential, seat }, ({ reason }) => {
        if (reason !== 'absent') return;
        empty.set(place, since);
        const isLeft = this.#parts.clock.now() - since >= emptyForMs;
        if (isLeft) this.#parts.left({ worker, credential, seat });
      });
    }
  }

  /** A letter that nobody needs: it is about nothing, and its reader drops it. */
  #ask(
    link: Link | undefined,
    about: Pick<Letter, 'to' | 'seat' | 'credential'>,
    refused: (why: BrokerError) => void,
  ): void {
    link?.tell({ id: 'still-there', ...about, kind: mailKinds.news, body: nothing }, refused);
  }
}

/** Each worker once, or once for each credential. */
function holders(running: readonly WatchedSeat[]): Iterable<WatchedSeat> {
  return new Map(running.map((call) => [`${call.worker} ${call.credential}`, call])).values();
}
