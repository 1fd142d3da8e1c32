// Limits how many servers are started at once for lists. A list may need dozens of servers that no
// client has named, and a machine that starts them all together starts none of them in time. So
// those starts take turns: the ones that are expected to be fast go first, and a server that hangs
// gives up its slot long before its start times out. A call to a particular server never waits
// here, nor does a server that runs already or has no process of ours.

import type { Clock } from '../../kernel/clock.ts';
import type { Server } from './server.ts';
import type { StartFacts } from './start-history.ts';

/** Fewer would leave a machine idle while servers wait for the network. */
const fewestPlaces = 4;
const placesPerProcessor = 2;

export function placesFor(processors: number): number {
  return Math.max(fewestPlaces, placesPerProcessor * processors);
}

/** The share of its start time after which a server that has not started gives up its slot. */
const placeShare = 1 / 10;

/** How long it keeps a slot at most. Long for one that may have to be downloaded first. */
export function placeMs(startTimeoutMs: number): number {
  return startTimeoutMs * placeShare;
}

/** What decides who goes first: the last start, or a guess; one that did not come in time is last. */
export function expectedMs({ startMs, late }: StartFacts, startTimeoutMs: number): number {
  if (late.length > 0) return Number.POSITIVE_INFINITY;
  return startMs ?? placeMs(startTimeoutMs);
}

interface Entry {
  readonly server: Server;
  /** The server itself, or an object of its own for a further connection. */
  readonly key: object;
  readonly expectedMs: number;
  readonly granted: Promise<void>;
  readonly grant: () => void;
  /** Those who are waiting for this server, or reading from it. */
  users: number;
  state: 'waiting' | 'holding' | 'free';
  timer: Disposable | undefined;
}

export class StartPlaces {
  readonly #clock: Clock;
  readonly #places: number;
  /** At most one for each server, and one for each start of a further connection. */
  readonly #entries = new Map<object, Entry>();
  /** Those who wait, the one to go first at the end; at most one for each entry. Some need no place any more. */
  readonly #waiting: Entry[] = [];
  #held = 0;

  constructor(clock: Clock, places: number) {
    this.#clock = clock;
    this.#places = places;
  }

  /**
   * Resolves when this server may be started; those who come for the same one share its place. A further
   * connection of a server that runs already (`isFurther`) needs a place of its own.
   */
  async enter(server: Server, isFurther = false): Promise<Disposable> {
    const key = isFurther ? {} : server;
    const entry = this.#entries.get(key) ?? this.#add(server, key);
    entry.users += 1;
    this.#grantNext();
    await entry.granted;
    let isLeft = false;
    return {
      [Symbol.dispose]: () => {
        if (isLeft) return;
        isLeft = true;
        this.#leave(entry);
      },
    };
  }

  /** This server is connected: callers that waited for it need no slot any more, or release it. */
  connected(server: Server): void {
    const entry = this.#entries.get(server);
    if (entry && !needsPlace(server)) this.#free(entry);
    this.#grantNext();
  }

  #add(server: Server, key: object): Entry {
    let grant: () => void = () => {};
    const granted = new Promise<void>((resolve) => {
      grant = resolve;
    });
    const waiting = { users: 0, state: 'waiting', timer: undefined } as const;
    const entry: Entry = {
      key,
      server,
      expectedMs: expectedOf(server),
      granted,
      grant,
      ...waiting,
    };
    this.#entries.set(key, entry);
    const isFree = key === server ? !needsPlace(server) : server.config.type !== 'stdio';
    if (isFree) this.#free(entry);
    else this.#waiting.splice(this.#placeFor(entry), 0, entry);
    return entry;
  }

  #leave(entry: Entry): void {
    entry.users -= 1;
    if (entry.users > 0) return;
    this.#free(entry);
    this.#entries.delete(entry.key);
    this.#grantNext();
  }

  #free(entry: Entry): void {
    if (entry.state === 'holding') {
      this.#held -= 1;
      entry.timer?.[Symbol.dispose]();
    }
    entry.state = 'free';
    entry.grant();
  }

  #grantNext(): void {
    while (this.#held < this.#places) {
      const next = this.#next();
      if (!next) return;
      this.#held += 1;
      next.state = 'holding';
      const ms = placeMs(next.server.config.startTimeoutMs);
      next.timer = this.#clock.after(ms, () => this.#overdue(next), true);
      next.grant();
    }
  }

  #overdue(entry: Entry): void {
    this.#free(entry);
    this.#grantNext();
  }

  #next(): Entry | undefined {
    for (let next = this.#waiting.pop(); next; next = this.#waiting.pop()) {
      if (next.state === 'waiting') return next;
    }
    return undefined;
  }

  /** Behind those that are expected to be as quick: equals go in the order in which they came. */
  #placeFor({ expectedMs: own }: Entry): number {
    let [from, to] = [0, this.#waiting.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#waiting[middle]?.expectedMs ?? 0) > own) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

function expectedOf({ history, config }: Server): number {
  return expectedMs(history.facts, config.startTimeoutMs);
}

function needsPlace({ config, supervisor }: Server): boolean {
  if (config.type !== 'stdio') return false;
  return supervisor.connection === undefined && supervisor.phase.kind !== 'starting';
}
