// Limits how many calls one server runs at a time, and how many may wait. Any further call is
// refused at once, so that a slow server cannot use up the memory of the host. Slots and queue are
// shared fairly. A program of the local user may use all of them. A remote owner has at most its share of the
// slots, whether others wait or not, because a call may keep its slot for long: the rest is for others. As soon
// as several clients wait, each free slot goes to the next one in turn, and within a client to the call that came
// first. When the queue is full, a client that has fewer calls waiting than another displaces the last call of
// that one.

import type { Signal } from '../kernel/cancel-signal.ts';
import { Fault } from '../kernel/fault.ts';
import { OwnerCounts, shareOf } from '../kernel/owner-counts.ts';

/** Who wants a slot. */
export interface Entrant {
  /** Whose turn it uses in the queue. */
  readonly client: string;
  /** Whose share it uses; undefined: nobody's, so that only the number of slots counts. */
  readonly owner: string | undefined;
}

interface Waiting {
  admit(): void;
  refuse(fault: Fault): void;
}

/** The waiting calls of one client, first come first; never empty. */
interface Line {
  readonly client: string;
  readonly owner: string | undefined;
  readonly waiting: Waiting[];
}

export class Admission {
  readonly #server: string;
  #concurrency: number;
  #capacity: number;
  /** One for each client that waits; all together at most `#capacity` calls. */
  readonly #lines: Line[] = [];
  /** Whose turn it is, among the queues of the clients. */
  #turn = 0;
  #queued = 0;
  #inside = 0;
  /** Of those that have a share, how many slots each has. */
  readonly #counts = new OwnerCounts();

  constructor(server: string, concurrency: number, capacity: number) {
    this.#server = server;
    this.#concurrency = concurrency;
    this.#capacity = capacity;
  }

  get inside(): number {
    return this.#inside;
  }

  get queued(): number {
    return this.#queued;
  }

  /** How many clients have calls that wait. */
  get waitingClients(): number {
    return this.#lines.length;
  }

  /**
   * Sets new limits: calls that fit now are admitted; calls that wait already may go on waiting.
   */
  resize(concurrency: number, capacity: number): void {
    this.#concurrency = concurrency;
    this.#capacity = capacity;
    while (this.#admitNext());
  }

  /** The server takes no more calls: none that waits gets a slot. Those that have one keep it. */
  refuseAll(fault: Fault): void {
    const waiting = this.#lines.splice(0).flatMap((line) => line.waiting);
    this.#queued = 0;
    this.#turn = 0;
    for (const one of waiting) one.refuse(fault);
  }

  /** Takes a slot now if one is free for it; then `leave` must follow. Nobody waits while one is free for them. */
  tryEnter({ owner }: Entrant): boolean {
    if (!this.#isFreeFor(owner)) return false;
    this.#take(owner);
    return true;
  }

  /** Waits for a slot, in the client's turn; refuses when too many wait already. */
  enter(entrant: Entrant, signal: Signal | undefined): Promise<true> {
    if (signal?.aborted) return Promise.reject(this.#cancelled());
    if (this.#queued >= this.#capacity && !this.#displace(entrant)) {
      return Promise.reject(this.#overloaded());
    }
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        if (this.#remove(entrant, waiting)) reject(this.#cancelled());
      };
      // A signal may outlive thousands of calls: listeners must not accumulate on it.
      const settle = () => signal?.removeEventListener('abort', giveUp);
      const waiting: Waiting = {
        admit: () => {
          settle();
          resolve(true);
        },
        refuse: (fault) => {
          settle();
          reject(fault);
        },
      };
      this.#add(entrant, waiting);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Gives the slot back: the next client's first call may have it. */
  leave({ owner }: Entrant): void {
    this.#inside -= 1;
    if (owner !== undefined) this.#counts.remove(owner);
    this.#admitNext();
  }

  /** False if nobody waits who may have a slot now. */
  #admitNext(): boolean {
    const place = this.#nextPlace();
    const line = place === undefined ? undefined : this.#lines[place];
    const next = line?.waiting.shift();
    if (place === undefined || !line || !next) return false;
    this.#queued -= 1;
    this.#take(line.owner);
    if (line.waiting.length > 0) this.#turn = (place + 1) % this.#lines.length;
    else {
      this.#turn = place;
      this.#drop(place);
    }
    next.admit();
    return true;
  }

  /** Where the client waits that is next in turn, of those that may have a slot now. */
  #nextPlace(): number | undefined {
    const { length } = this.#lines;
    for (let passed = 0; passed < length; passed++) {
      const place = (this.#turn + passed) % length;
      if (this.#isFreeFor(this.#lines[place]?.owner)) return place;
    }
    return undefined;
  }

  /** More calls may be running than there are slots now. */
  #isFreeFor(owner: string | undefined): boolean {
    if (this.#inside >= this.#concurrency) return false;
    return owner === undefined || this.#counts.of(owner) < shareOf(this.#concurrency);
  }

  #take(owner: string | undefined): void {
    this.#inside += 1;
    if (owner !== undefined) this.#counts.add(owner);
  }

  #add(entrant: Entrant, waiting: Waiting): void {
    this.#queued += 1;
    const { client, owner } = entrant;
    const line = this.#lineOf(entrant);
    if (line) line.waiting.push(waiting);
    // Behind the client whose turn it is, so that a new client waits for one turn of all others.
    else this.#lines.splice(this.#turn, 0, { client, owner, waiting: [waiting] });
    if (!line && this.#lines.length > 1) this.#turn += 1;
  }

  /** False if it does not wait any more. */
  #remove(entrant: Entrant, waiting: Waiting): boolean {
    const line = this.#lineOf(entrant);
    const index = line?.waiting.indexOf(waiting) ?? -1;
    if (!line || index === -1) return false;
    line.waiting.splice(index, 1);
    this.#queued -= 1;
    if (line.waiting.length === 0) this.#drop(this.#lines.indexOf(line));
    return true;
  }

  /**
   * The full queue has room for a client that has fewer waiting calls than another: the last call
   * of that one is refused.
   */
  #displace(entrant: Entrant): boolean {
    const own = this.#lineOf(entrant)?.waiting.length ?? 0;
    let longest: Line | undefined;
    for (const line of this.#lines) {
      if (line.waiting.length > (longest?.waiting.length ?? own + 1)) longest = line;
    }
    const last = longest?.waiting.at(-1);
    if (!longest || !last) return false;
    this.#remove(longest, last);
    last.refuse(this.#overloaded());
    return true;
  }

  /** A stranger may have the name of a client that uses nobody's share: they wait apart. */
  #lineOf({ client, owner }: Entrant): Line | undefined {
    return this.#lines.find((line) => line.client === client && line.owner === owner);
  }

  #drop(index: number): void {
    this.#lines.splice(index, 1);
    if (index < this.#turn) this.#turn -= 1;
    if (this.#turn >= this.#lines.length) this.#turn = 0;
  }

  #overloaded(): Fault {
    return new Fault(
      'overloaded',
      `${this.#server} has ${this.#inside} calls running and ${this.#queued} waiting, its queue is full; ` +
        'try again later or raise its concurrency or queue',
      { server: this.#server },
    );
  }

  #cancelled(): Fault {
    return new Fault('cancelled', 'the caller cancelled while the call waited in the queue', {
      server: this.#server,
    });
  }
}
