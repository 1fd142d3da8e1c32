// Knowing what servers list, without making anybody wait for it longer than it is worth. What an
// earlier run knew is recalled first; a server of which nothing is known is started, some at a time,
// and waited for once, by all who ask; one that says its list has changed is read again, if it is
// there. Whoever cannot be read in time goes on alone, and its arrival is news to those who were
// answered without it.

import { eachOf, freshen } from '../host/discovery.ts';
import type { Host } from '../host/host.ts';
import type { ListKind } from '../host/listings.ts';
import type { Server } from '../host/server.ts';
import { type Clock, within } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';

/** How long a list waits for servers of which nothing is known. */
const firstListMs = 10_000;
/** How long it waits for one that says its list has changed. */
const changedListMs = 2_000;

export class KnownLists {
  readonly #host: Host;
  readonly #clock: Clock;
  readonly #recalling: Promise<void>;
  /** Until when a server is waited for that has never given a list. */
  readonly #waitedUntil = new Map<string, number>();
  /** Servers without which a list was answered. */
  readonly #missed = new Set<string>();
  #isRecalled = false;

  /** `recalled` is told when what an earlier run knew is there. */
  constructor(host: Host, clock: Clock, recalled: () => void) {
    this.#host = host;
    this.#clock = clock;
    const recalls = host.servers().map((server) => server.recall());
    this.#recalling = Promise.all(recalls).then(() => {
      this.#isRecalled = true;
      recalled();
    });
  }

  /** Undefined when there is nothing to wait for. */
  recalled(): Promise<void> | undefined {
    return this.#isRecalled ? undefined : this.#recalling;
  }

  /** Was a list answered without this server? Asking takes note that it is told now. */
  wasMissed(server: string, kind: ListKind): boolean {
    return this.#missed.delete(markOf(server, kind));
  }

  /** Reads what is not known, or known to be old, of those that are there to be asked. */
  async update(servers: readonly Server[], kind: ListKind): Promise<void> {
    const old = servers.filter(({ catalogue, supervisor }) => {
      const isKnown = catalogue.definitions(kind) !== undefined;
      return !isKnown || (!catalogue.lists.isFresh(kind) && supervisor.connection !== undefined);
    });
    if (old.length === 0) return;
    const waits = new Map(old.map((server) => [server, this.#waitMs(server, kind)]));
    const awaited = old.filter((server) => waits.get(server) !== 0);
    const others = old.filter((server) => waits.get(server) === 0);
    // Nobody waits for these: whoever does next time hears what went wrong.
    this.#readAll(others, kind).catch(() => {});
    const longestMs = [...waits.values()].reduce((longest, ms) => Math.max(longest, ms), 0);
    await within(this.#clock, longestMs, this.#readAll(awaited, kind));
    for (const { catalogue, name } of old) {
      if (!catalogue.lists.isFresh(kind)) this.#missed.add(markOf(name, kind));
    }
  }

  /** For a name that nobody knows: asks those whose list is not known, and those it points to. */
  async learn(kind: ListKind, isCandidate: (server: Server) => boolean): Promise<void> {
    await this.recalled();
    const unknown = this.#host.servers().filter((server) => {
      if (server.catalogue.definitions(kind) === undefined) return true;
      return isCandidate(server) && !server.catalogue.lists.isFresh(kind);
    });
    await eachOf(unknown, (server) => this.#read(server, kind));
  }

  #waitMs({ catalogue, name }: Server, kind: ListKind): number {
    if (catalogue.definitions(kind) !== undefined) return changedListMs;
    const mark = markOf(name, kind);
    const now = this.#clock.now();
    const until = this.#waitedUntil.get(mark) ?? now + firstListMs;
    this.#waitedUntil.set(mark, until);
    return Math.max(0, until - now);
  }

  /** Some at a time; one that hangs gives up its place long before its time is over. */
  async #readAll(servers: readonly Server[], kind: ListKind): Promise<void> {
    const readings: Promise<void>[] = [];
    await eachOf(servers, (server) => {
      const reading = this.#read(server, kind);
      readings.push(reading);
      return within(this.#clock, changedListMs, reading);
    });
    await Promise.all(readings);
  }

  /** Ends when the list is read, cannot be read, or takes too long; in that case it goes on alone. */
  async #read(server: Server, kind: ListKind): Promise<void> {
    try {
      await freshen(this.#host, server, kind, firstListMs);
    } catch (error) {
      // It is shown as it was last known, or not; `status` has the cause.
      if (!(error instanceof Fault)) throw error;
      this.#waitedUntil.set(markOf(server.name, kind), this.#clock.now());
    }
  }
}

function markOf(server: string, kind: ListKind): string {
  return `${kind} ${server}`;
}
