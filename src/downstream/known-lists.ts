// Knowing what servers list, without making anybody wait for it longer than it is worth. What an
// earlier run knew is recalled first; a server of which nothing is known is started, when there is a
// place for it, and waited for once, by all who ask; one that says its list has changed is read again,
// if it is there. Whoever cannot be read in time goes on alone, and its arrival is news to those who
// were answered without it. A server that did not come in time is not waited for again, in this run or
// a later one, until it has come; and lists do not try for ever to start one that fails.

import type { Caller } from '../host/caller.ts';
import { freshen } from '../host/discovery.ts';
import type { Host } from '../host/host.ts';
import { type Attempts, failedAttempt, mayTry, noAttempts } from '../host/list-attempts.ts';
import { type ListKind, listDeadlineMs } from '../host/listings.ts';
import type { Server } from '../host/server.ts';
import { type Clock, within } from '../kernel/clock.ts';

/** How long a list waits for a server that says its list has changed. */
const changedListMs = 2_000;
/** Who has used up this share of the wait and has not listed, was late. */
const lateShare = 1 / 4;

interface Reading {
  /** When the server was asked; undefined while it waits for a place. */
  begunAt: number | undefined;
  /** Never rejects: `status` has the cause. */
  ended: Promise<void>;
}

export class KnownLists {
  readonly #host: Host;
  readonly #clock: Clock;
  readonly #listWaitMs: number;
  readonly #recalling: Promise<void>;
  // Each of these has at most one entry for each server and kind of list.
  /** Until when a server is waited for that has never given a list. */
  readonly #waitedUntil = new Map<string, number>();
  /** Servers without which a list was answered. */
  readonly #missed = new Set<string>();
  readonly #readings = new Map<string, Reading>();
  /** Lists that could not be read, and when that is tried again. */
  readonly #attempts = new Map<string, Attempts>();
  #isRecalled = false;

  /** `recalled` is told when what an earlier run knew is there. */
  constructor(host: Host, clock: Clock, listWaitMs: number, recalled: () => void) {
    this.#host = host;
    this.#clock = clock;
    this.#listWaitMs = listWaitMs;
    const recalls = host.servers().flatMap((server) => [server.recall(), server.history.recall()]);
    // A record that cannot be read is as good as none; the store has told about it.
    this.#recalling = Promise.allSettled(recalls).then(() => {
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
  async update(
    servers: readonly Server[],
    kind: ListKind,
    caller: Caller | undefined,
  ): Promise<void> {
    const old = servers.filter((server) => {
      const shown = server.catalogueFor(caller);
      if (shown.definitions(kind) === undefined) return true;
      return !shown.lists.isFresh(kind) && server.seatOf(shown) !== undefined;
    });
    if (old.length === 0) return;
    await Promise.all(old.map((server) => this.#await(server, kind, caller)));
    for (const server of old) {
      const isFresh = server.catalogueFor(caller).lists.isFresh(kind);
      if (!isFresh) this.#missed.add(markOf(server.name, kind));
    }
  }

  /** For a name that nobody knows: asks those whose list is not known, and those it points to. */
  async learn(
    kind: ListKind,
    caller: Caller,
    isCandidate: (server: Server) => boolean,
  ): Promise<void> {
    await this.recalled();
    const readings = this.#host.servers().flatMap((server) => {
      const shown = server.catalogueFor(caller);
      const isUnknown = shown.definitions(kind) === undefined;
      // Somebody calls it by its name: it is started like for any call.
      if (isCandidate(server)) {
        return shown.lists.isFresh(kind) ? [] : [this.#read(server, kind, caller)];
      }
      return isUnknown ? [this.#await(server, kind, caller)] : [];
    });
    await Promise.all(readings);
  }

  /** Waits for one server as long as it may be waited for. */
  async #await(server: Server, kind: ListKind, caller: Caller | undefined): Promise<void> {
    const waitMs = this.#waitMs(server, kind);
    const reading = this.#reading(server, kind, caller);
    if (reading === undefined || waitMs === 0) return;
    await within(this.#clock, waitMs, reading.ended);
    if (server.offerings.definitions(kind) === undefined) this.#noteLate(server, kind, reading);
  }

  #waitMs({ offerings, name, history }: Server, kind: ListKind): number {
    if (offerings.definitions(kind) !== undefined) return changedListMs;
    const mark = markOf(name, kind);
    const now = this.#clock.now();
    const allowedMs = history.facts.late.includes(kind) ? 0 : this.#listWaitMs;
    const until = this.#waitedUntil.get(mark) ?? now + allowedMs;
    this.#waitedUntil.set(mark, until);
    return Math.max(0, until - now);
  }

  /** One that waited for its place most of the time is not to blame. */
  #noteLate({ history }: Server, kind: ListKind, { begunAt }: Reading): void {
    if (begunAt === undefined) return;
    if (this.#clock.now() - begunAt >= this.#listWaitMs * lateShare) history.wasLate(kind);
  }

  /** The reading under way, or a new one; undefined if a list may not try it now. */
  #reading(server: Server, kind: ListKind, caller: Caller | undefined): Reading | undefined {
    const mark = markOf(server.name, kind);
    const underWay = this.#readings.get(mark);
    if (underWay) return underWay;
    if (!this.#mayStart(server, mark)) return undefined;
    const reading: Reading = { begunAt: undefined, ended: Promise.resolve() };
    reading.ended = this.#readInTurn(server, kind, caller, reading).finally(() =>
      this.#readings.delete(mark),
    );
    this.#readings.set(mark, reading);
    return reading;
  }

  #mayStart({ supervisor, config }: Server, mark: string): boolean {
    if (supervisor.connection || supervisor.phase.kind === 'starting') return true;
    const budget = { left: supervisor.restartsLeft, max: config.restart?.max ?? null };
    return mayTry(this.#attempts.get(mark) ?? noAttempts, this.#clock.now(), budget);
  }

  async #readInTurn(
    server: Server,
    kind: ListKind,
    caller: Caller | undefined,
    reading: Reading,
  ): Promise<void> {
    using _place = await this.#host.places.enter(server);
    reading.begunAt = this.#clock.now();
    await this.#read(server, kind, caller);
  }

  /** Ends when the list is read or cannot be read: it is shown as it was last known, or not. */
  async #read(server: Server, kind: ListKind, caller: Caller | undefined): Promise<void> {
    const mark = markOf(server.name, kind);
    const deadlineMs = server.config.startTimeoutMs + listDeadlineMs;
    try {
      await freshen(this.#host, server, kind, { caller, deadlineMs, asksAgain: false });
    } catch {
      // `status` has the cause.
    }
    if (server.offerings.definitions(kind) !== undefined) {
      this.#attempts.delete(mark);
      return;
    }
    const now = this.#clock.now();
    this.#waitedUntil.set(mark, now);
    this.#attempts.set(mark, failedAttempt(this.#attempts.get(mark) ?? noAttempts, now));
  }
}

function markOf(server: string, kind: ListKind): string {
  return `${kind} ${server}`;
}
