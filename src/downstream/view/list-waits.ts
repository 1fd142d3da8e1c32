// How long a list waits for a server. One that has never given its list is waited for once, by all
// who ask, and not again until it has given it, in this run or a later one. One that reported a
// change, or has listed to other clients only, is waited for a short time.

import type { Caller } from '../../host/connections/caller.ts';
import { classOf } from '../../host/connections/client-class.ts';
import { type ListKind, listKinds } from '../../host/lists/listings.ts';
import type { Server } from '../../host/servers/server.ts';
import type { Clock } from '../../kernel/clock.ts';

/** How long a list waits for a server that reported a changed list. */
const changedListMs = 2_000;
/** A server that has used up this share of the wait without listing was late. */
const lateShare = 1 / 4;
/** Classes of clients, of all servers together, that are waited for. */
const maxOwn = 1_000;

export class ListWaits {
  /** How long a server without a known list is waited for. */
  longestMs: number;
  readonly #clock: Clock;
  /** Until when a server is waited for that has never given a list; one for each server, and for each list of it. */
  readonly #until = new Map<string, number>();
  /** Until when a server is waited for that has given its list to others; at most `maxOwn`. */
  readonly #ownUntil = new Map<string, number>();

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock;
    this.longestMs = longestMs;
  }

  /** How much is remembered of all servers together. */
  get size(): number {
    return this.#until.size + this.#ownUntil.size;
  }

  /** How long this caller waits for this list. */
  msFor(server: Server, kind: ListKind, caller: Caller | undefined): number {
    return server.isBorrowedFor(caller) ? this.#ownMs(server, caller) : this.#ms(server, kind);
  }

  /** What others are offered is shown at once or after a short time, but that time is waited only once. */
  #ownMs({ name }: Server, caller: Caller | undefined): number {
    const mark = `${name} ${caller ? classOf(caller.capabilities).key : ''}`;
    const now = this.#clock.now();
    const until = this.#ownUntil.get(mark) ?? now + changedListMs;
    if (this.#ownUntil.size >= maxOwn) this.#ownUntil.clear();
    this.#ownUntil.set(mark, until);
    return Math.max(0, until - now);
  }

  #ms({ offerings, name, history }: Server, kind: ListKind): number {
    if (offerings.definitions(kind) !== undefined) return changedListMs;
    const mark = markOf(name, kind);
    const now = this.#clock.now();
    const { late } = history.facts;
    // Until it has given its tools it is the server that is waited for, once for all of its lists.
    const isServer = offerings.definitions('tools') === undefined;
    const isLate = late.includes(kind) || (isServer && late.includes('tools'));
    const shared = isServer ? this.#until.get(name) : undefined;
    const until = this.#until.get(mark) ?? shared ?? now + (isLate ? 0 : this.longestMs);
    this.#until.set(mark, until);
    if (isServer && !isLate) this.#until.set(name, until);
    return Math.max(0, until - now);
  }

  /** A server that waited for its start slot most of the time was not late. */
  noteLate({ history }: Server, kind: ListKind, begunAt: number | undefined): void {
    if (begunAt === undefined) return;
    if (this.#clock.now() - begunAt >= this.longestMs * lateShare) history.wasLate(kind);
  }

  /** It cannot be read now: nobody waits for it any more. */
  end({ name }: Server, kind: ListKind): void {
    this.#until.set(markOf(name, kind), this.#clock.now());
  }

  /** It has given this list: if that is gone later, it is waited for as the first time. */
  given({ name }: Server, kind: ListKind): void {
    this.#until.delete(markOf(name, kind));
    if (kind === 'tools') this.#until.delete(name);
  }

  /** It was not asked, because nobody was there any more: the next request waits for it. */
  unasked({ name }: Server, kind: ListKind): void {
    this.#until.delete(markOf(name, kind));
    this.#until.delete(name);
  }

  /** The server was removed or replaced. */
  forget(name: string): void {
    this.#until.delete(name);
    for (const kind of listKinds) this.#until.delete(markOf(name, kind));
    for (const key of this.#ownUntil.keys()) if (isMarkedBy(key, name)) this.#ownUntil.delete(key);
  }
}

/** Stands for one list of one server. */
export function markOf(server: string, kind: ListKind): string {
  return `${kind} ${server}`;
}

/** Is this the mark, or the mark with a class of clients behind it? */
export function isMarkedBy(key: string, mark: string): boolean {
  return key === mark || key.startsWith(`${mark} `);
}
