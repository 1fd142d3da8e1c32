// Reads the lists of servers, with bounded waiting. Stored lists are loaded first; a server without
// a known list is started, when there is a start slot for it, and waited for once, by all who ask;
// one that reported a changed list is read again, if it is connected. A server that cannot be read
// in time continues in the background, and clients that were answered without it are notified when
// it arrives. A server that was late is not waited for again, in this run or a later one, until it
// has arrived; and lists do not try for ever to start one that fails. An orchestrator behind a broker is
// asked like in any call, as often as somebody asks: its connection decides how long that is tried.

import type { Caller } from '../../host/connections/caller.ts';
import { type ClientClass, classOf } from '../../host/connections/client-class.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import type { ServersChange } from '../../host/host-news.ts';
import {
  failedAttempt,
  type ListAttempts,
  mayTry,
  noAttempts,
} from '../../host/lists/list-attempts.ts';
import { freshen, readForAll } from '../../host/lists/list-reading.ts';
import { type ListKind, listDeadlineMs, listKinds } from '../../host/lists/listings.ts';
import type { Server } from '../../host/servers/server.ts';
import { type Clock, within } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { kindRequest } from '../../policy/access.ts';
import { isMarkedBy, ListWaits, markOf } from './list-waits.ts';
import { namedKinds } from './sight.ts';

/** How long a list waits for an orchestrator: a little longer than its connection is tried. */
const cutOffMs = 15_000;
/** Lists that are remembered as unreadable. */
const maxAttempts = 1_000;

interface Reading {
  /** When the server was asked; undefined while it waits for a place. */
  begunAt: number | undefined;
  /** Who waits for it, until the server is asked; as many as there are requests. */
  readonly askers: (Caller | undefined)[];
  /** Whom it is read for, once the server is asked. */
  reader: Caller | undefined;
  /** Never rejects: `status` has the cause. */
  read: Promise<void>;
  /** The connection has become the reader's own: nobody else waits for what is read there. */
  readonly parted: Promise<void>;
  isParted: boolean;
  readonly part: () => void;
}

export class KnownLists {
  readonly #host: HostForGateway;
  readonly #clock: Clock;
  readonly #recalled: () => void;
  readonly #waits: ListWaits;
  #recalling: Promise<void> = Promise.resolve();
  /** Servers without which a list was answered; at most one for each server and list. */
  readonly #missed = new Set<string>();
  /** Readings under way; at most one for each server, list and class or client that lacks a list of its own. */
  readonly #readings = new Map<string, Reading>();
  /** Lists that could not be read, by server, list and class, and when that is tried again; at most `maxAttempts`. */
  readonly #attempts = new Map<string, ListAttempts>();
  #isRecalled = false;

  /** `recalled` is called when stored data has been loaded, with what else is being loaded. */
  constructor(
    host: HostForGateway,
    clock: Clock,
    listWaitMs: number,
    others: readonly Promise<void>[],
    recalled: () => void,
  ) {
    this.#host = host;
    this.#clock = clock;
    this.#waits = new ListWaits(clock, listWaitMs);
    this.#recalled = recalled;
    this.#recall(host.servers(), others);
  }

  #recall(servers: readonly Server[], others: readonly Promise<void>[]): void {
    const recalls = servers.flatMap((server) => [server.recall(), server.history.recall()]);
    // A record that cannot be read counts as missing; the store has reported it.
    const recalling = Promise.allSettled([...recalls, ...others]).then(() => {
      // Others may have come meanwhile: then they are waited for too.
      if (this.#recalling === recalling) this.#isRecalled = true;
      this.#recalled();
    });
    this.#isRecalled = false;
    this.#recalling = recalling;
  }

  /** How much is remembered of all servers together. */
  get size(): number {
    const kept = [this.#waits, this.#missed, this.#readings, this.#attempts];
    return kept.reduce((sum, { size }) => sum + size, 0);
  }

  set listWaitMs(ms: number) {
    this.#waits.longestMs = ms;
  }

  /**
   * Servers were added, removed or replaced: earlier readings of their lists say nothing any more.
   */
  serversChanged({ added, removed, replaced }: ServersChange): void {
    for (const { name } of [...removed, ...replaced]) this.#forget(name);
    const unknown = [...added, ...replaced];
    if (unknown.length > 0) this.#recall(unknown, [this.#recalling]);
  }

  #isThere(server: Server): boolean {
    return this.#host.get(server.name) === server;
  }

  #forget(name: string): void {
    this.#waits.forget(name);
    for (const kind of listKinds) {
      const mark = markOf(name, kind);
      this.#missed.delete(mark);
      for (const map of [this.#readings, this.#attempts]) {
        for (const key of map.keys()) if (isMarkedBy(key, mark)) map.delete(key);
      }
    }
  }

  /** Undefined when there is nothing to wait for. */
  recalled(): Promise<void> | undefined {
    return this.#isRecalled ? undefined : this.#recalling;
  }

  /** Whether a list was answered without this server. Asking marks it as reported. */
  wasMissed(server: string, kind: ListKind): boolean {
    return this.#missed.delete(markOf(server, kind));
  }

  /** Reads what is not known, or known to be old, of those that are there to be asked. */
  async update(
    servers: readonly Server[],
    kind: ListKind,
    caller: Caller | undefined,
  ): Promise<void> {
    // One that its caller cannot use is not asked, and that it was not is no failure.
    const usable = servers.filter(({ slots }) => slots.refusalOf(caller) === undefined);
    await Promise.all(usable.map((server) => this.#reach(server, kind, caller)));
    const old = usable.filter(
      (server) => !server.catalogueFor(caller).lists.isFresh(kind) || server.isBorrowedFor(caller),
    );
    if (old.length === 0) return;
    const asked = old.filter((server) => isAskedNow(server, kind, caller));
    await Promise.all(asked.map((server) => this.#await(server, kind, caller)));
    // Somebody else's reading, shared while nothing was known, may have been for other clients, or
    // for that client only.
    const unread = asked.filter(
      (server) => this.#isThere(server) && isUnread(server, kind, caller),
    );
    await Promise.all(unread.map((server) => this.#await(server, kind, caller)));
    // A client that is answered with an incomplete or old list has to be notified later, also about
    // a server that was not asked.
    for (const server of old) {
      if (!this.#isThere(server)) continue;
      const isFresh = server.catalogueFor(caller).lists.isFresh(kind);
      if (!isFresh) this.#missed.add(markOf(server.name, kind));
    }
  }

  /** What an orchestrator has listed holds as long as there is a connection. */
  async #reach(server: Server, kind: ListKind, caller: Caller | undefined): Promise<void> {
    if (server.isCutOff) await within(this.#clock, cutOffMs, this.#read(server, kind, caller));
  }

  /** The list is said to have changed: it is read again if its server runs, and nobody waits for it. */
  readAgain(server: Server, kind: ListKind, caller: Caller): void {
    const { slots } = server;
    const isFresh = server.catalogueFor(caller).lists.isFresh(kind);
    if (isFresh || !slots.isConnected || slots.refusalOf(caller) !== undefined) return;
    if (isAskedNow(server, kind, caller)) this.#reading(server, kind, caller);
  }

  /**
   * For an unknown name: asks the servers whose list is not known, and those it points to, if its
   * caller may and they may have such a list.
   */
  async learn(
    kind: ListKind,
    caller: Caller,
    isCandidate: (server: Server) => boolean,
  ): Promise<void> {
    await this.recalled();
    const { access } = this.#host;
    const readings = this.#host.servers().flatMap((server) => {
      const started = kindRequest('start', server.name, namedKinds[kind]);
      if (!access.isAllowed(caller.principal, started)) return [];
      if (server.slots.refusalOf(caller)) return [];
      // What it has said of itself, in this run or an earlier one, decides without a start.
      if (!server.offerings.mayHave(kind)) return [];
      const shown = server.catalogueFor(caller);
      // It is called by its name, which says nothing of an orchestrator: it is started as for any call.
      if (isCandidate(server) || server.isElsewhere) {
        const isRead = shown.lists.isFresh(kind) && !server.isBorrowedFor(caller);
        return isRead ? [] : [this.#read(server, kind, caller)];
      }
      const isUnknown = shown.definitions(kind) === undefined;
      return isUnknown ? [this.#await(server, kind, caller)] : [];
    });
    await Promise.all(readings);
  }

  /** Waits for one server as long as it may be waited for. */
  async #await(server: Server, kind: ListKind, caller: Caller | undefined): Promise<void> {
    const waitMs = this.#waits.msFor(server, kind, caller);
    const reading = this.#reading(server, kind, caller);
    if (reading === undefined || waitMs === 0) return;
    await within(this.#clock, waitMs, Promise.race([reading.read, reading.parted]));
    if (reading.isParted && reading.reader === caller) {
      await within(this.#clock, this.#waits.msFor(server, kind, caller), reading.read);
    } else if (reading.isParted) return this.#await(server, kind, caller);
    if (server.offerings.definitions(kind) === undefined) {
      this.#waits.noteLate(server, kind, reading.begunAt);
    }
  }

  /** The reading under way, or a new one; undefined if a list may not try it now. */
  #reading(server: Server, kind: ListKind, caller: Caller | undefined): Reading | undefined {
    const mark = markOf(server.name, kind);
    const isBorrowed = caller !== undefined && server.isBorrowedFor(caller);
    const { owner, folder = '', era } = caller ? server.slots.aimOf(caller) : {};
    const own = owner ?? folder;
    const clients = isBorrowed ? classOf(caller.capabilities) : readFor(server, caller);
    const isForAll = own === '' && clients === undefined;
    const key = isForAll ? mark : `${mark} ${JSON.stringify([own, clients?.key])}`;
    const underWay = this.#readings.get(key);
    if (underWay) {
      if (underWay.begunAt === undefined) underWay.askers.push(caller);
      return underWay;
    }
    // In the modern era one connection serves all classes.
    const isFurther = isBorrowed && era !== 'modern';
    if (!this.#mayStart(server, key, isFurther)) return undefined;
    const ended = () => {
      if (this.#readings.get(key) === reading) this.#readings.delete(key);
    };
    const reading = newReading([caller], ended);
    reading.read = this.#readInTurn(server, kind, reading, key, isFurther).finally(ended);
    this.#readings.set(key, reading);
    return reading;
  }

  /** `isFurther`: a connection for another class of clients is needed, whatever runs already. */
  #mayStart({ supervisor, config }: Server, key: string, isFurther: boolean): boolean {
    const isRunning = supervisor.connection || supervisor.phase.kind === 'starting';
    if (isRunning && !isFurther) return true;
    const budget = { left: supervisor.restartsLeft, max: config.restart?.max ?? null };
    return mayTry(this.#attempts.get(key) ?? noAttempts, this.#clock.now(), budget);
  }

  async #readInTurn(
    server: Server,
    kind: ListKind,
    reading: Reading,
    key: string,
    isFurther: boolean,
  ): Promise<void> {
    using _place = await this.#host.places.enter(server, isFurther);
    reading.begunAt = this.#clock.now();
    // It may have waited long for its place: it is read for somebody who is still there.
    const present = reading.askers.splice(0).filter((asker) => !asker?.client.isGone);
    [reading.reader] = present;
    if (present.length > 0) {
      return await this.#read(server, kind, reading.reader, key, reading.part);
    }
    this.#waits.unasked(server, kind);
  }

  /** Ends when the list is read or cannot be read: it is shown as it was last known, or not. */
  async #read(
    server: Server,
    kind: ListKind,
    caller: Caller | undefined,
    key = markOf(server.name, kind),
    parted?: () => void,
  ): Promise<void> {
    const deadlineMs = server.config.startTimeoutMs + listDeadlineMs;
    let isReached = false;
    try {
      await freshen(this.#host, server, kind, { caller, deadlineMs, asksAgain: false, parted });
      isReached = true;
    } catch {
      // `status` has the cause.
    }
    // Nothing is remembered of a server that was removed meanwhile.
    if (!this.#isThere(server)) return;
    // One that has failed or was stopped is not started again; a client that has left is no failure.
    if (caller && (isReached || caller.client.isGone)) this.#readForAll(server, caller);
    const isKnown = server.offerings.definitions(kind) !== undefined;
    if (isKnown && !server.isBorrowedFor(caller)) {
      this.#attempts.delete(key);
      this.#waits.given(server, kind);
      return;
    }
    this.#waits.end(server, kind);
    this.#failed(key);
  }

  #failed(key: string): void {
    if (this.#attempts.size >= maxAttempts) this.#attempts.clear();
    const before = this.#attempts.get(key) ?? noAttempts;
    this.#attempts.set(key, failedAttempt(before, this.#clock.now()));
  }

  /**
   * It lists to single clients only, because it asks them at its start: what they were listed is
   * gone with them. It is read for everybody like this client too, once, so that the next client
   * and the next run have something to show.
   */
  #readForAll(server: Server, caller: Caller): void {
    const isKnown = () => server.offerings.isSharedKnown(server.slots.aimOf(caller));
    if (!server.slots.asks || isKnown()) return;
    const { folder = '' } = server.slots.aimOf(caller);
    const { key: clients } = classOf(caller.capabilities);
    const key = `${markOf(server.name, 'tools')} all ${JSON.stringify([folder, clients])}`;
    if (this.#readings.has(key) || !this.#mayStart(server, key, true)) return;
    const read = async () => {
      using _place = await this.#host.places.enter(server, true);
      reading.begunAt = this.#clock.now();
      const isNeeded = () => this.#isThere(server) && !isKnown();
      if (!isNeeded()) return;
      const deadlineMs = server.config.startTimeoutMs + listDeadlineMs;
      await readForAll(this.#host, server, caller, deadlineMs);
      if (isNeeded()) throw new Error('the server has listed nothing');
    };
    const reading = newReading([], ignored);
    this.#readings.set(key, reading);
    // `status` has the cause of a failure.
    reading.read = read()
      .then(
        () => this.#attempts.delete(key),
        () => this.#isThere(server) && this.#failed(key),
      )
      .then(() => {
        if (this.#readings.get(key) === reading) this.#readings.delete(key);
      });
  }
}

/** `parted` is called when it is for its reader only. */
function newReading(askers: (Caller | undefined)[], parted: () => void): Reading {
  let resolve: () => void = ignored;
  const reading: Reading = {
    begunAt: undefined,
    askers,
    reader: undefined,
    read: Promise.resolve(),
    parted: new Promise<void>((done) => {
      resolve = done;
    }),
    isParted: false,
    part: () => {
      reading.isParted = true;
      parted();
      resolve();
    },
  };
  return reading;
}

/** The class whose lists this client is shown; undefined while nothing is known: then all wait for the first reading. */
function readFor(server: Server, caller: Caller | undefined): ClientClass | undefined {
  const isKnown = server.offerings.definitions('tools') !== undefined;
  return isKnown ? server.catalogueFor(caller).aim.clients : undefined;
}

/** Whether others have this list, and nothing was read for clients like this one. */
function isUnread(server: Server, kind: ListKind, caller: Caller | undefined): boolean {
  if (server.isBorrowedFor(caller)) return true;
  const isForOthers = server.offerings.definitions(kind) !== undefined;
  return isForOthers && server.catalogueFor(caller).definitions(kind) === undefined;
}

/** Whether there is something to read, for clients like this one, at a connected server. */
function isAskedNow(server: Server, kind: ListKind, caller: Caller | undefined): boolean {
  const shown = server.catalogueFor(caller);
  if (shown.definitions(kind) === undefined) return isWorthAsking(server, kind);
  // Clients like this one may be offered something else than what is shown until then.
  return server.isBorrowedFor(caller) || server.slotOf(shown) !== undefined;
}

/**
 * A server that has given its tools and not this list, in this run or an earlier one, has refused it or
 * was late with it: it is asked again when it runs, but not started for it.
 */
function isWorthAsking({ supervisor, offerings }: Server, kind: ListKind): boolean {
  const { connection, phase } = supervisor;
  const isRunning = connection !== undefined || phase.kind === 'starting';
  const hasTools = offerings.definitions('tools') !== undefined;
  return offerings.mayHave(kind) && (isRunning || !hasTools);
}
