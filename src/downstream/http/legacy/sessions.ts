// The table of legacy sessions, in the order of use, the longest idle first, so that expiry needs
// one timer for all and the session to drop when the table is full is found at once. A session with
// an open stream or running work is not idle. An id is valid only with the credential it was issued
// to. One that an earlier process had is found in the store, if there is one (kept-sessions.ts); one that another
// replica has is that one's, until it is gone.

import { randomBytes } from 'node:crypto';
import { contain, ignored } from '../../../kernel/contain.ts';
import { OwnerCounts, shareOf } from '../../../kernel/owner-counts.ts';
import { RareLine } from '../../../kernel/rare-line.ts';
import { UseOrder } from '../../../kernel/use-order.ts';
import { isLocalUser, ownerOf, type Principal } from '../../../policy/principal.ts';
import type { Message } from '../../../wire/scan.ts';
import { ClientSetup } from '../../clients/client-setup.ts';
import type { Edge } from '../http-context.ts';
import { Elsewhere } from '../replicas/peers.ts';
import { type HandedSession, HandedSessions } from '../rollout/handed-sessions.ts';
import { read, type SessionNews, type ToldOfSessions, written } from '../rollout/session-news.ts';
import { DoubtedSessions } from './doubted-sessions.ts';
import { HttpSession, type SessionTable } from './http-session.ts';
import { ByteBudget } from './kept-events.ts';
import type { KeptSession, KeptSessions } from './kept-sessions.ts';
import { SetupBytes } from './setup-bytes.ts';

/** A session; undefined: there is none; `unavailable`: that cannot be said now. */
export type FoundSession = HttpSession | Elsewhere | 'unavailable' | undefined;

const maxEnded = 4_096;

/** One request that waits for the store. */
interface Asking {
  /** The id of the one whose credential it came with. */
  readonly owner: string;
  /** That one's access has ended meanwhile. */
  isBarred: boolean;
}

/** How often a session that is used is stored again in its idle time. */
const refreshes = 8;

export class Sessions implements SessionTable {
  readonly budget: ByteBudget;
  readonly #edge: Edge;
  /** By id, until they end or expire; at most `limits.sessions`. */
  readonly #sessions = new Map<string, HttpSession>();
  readonly #order = new UseOrder<HttpSession>();
  /** Of both legacy transports. */
  readonly #counts = new OwnerCounts();
  /** Of both legacy transports. */
  readonly setups: SetupBytes;
  readonly #given: RareLine;
  readonly #kept: KeptSessions | undefined;
  /** By principal and id, while the store is asked; at most one for each request. */
  readonly #searches = new Map<string, Promise<KeptSession>>();
  /** Ids of sessions that have ended, in case the store or a former still has them; at most `maxEnded`. */
  readonly #ended = new Set<string>();
  /** The requests that wait for the store; each until it is answered. */
  readonly #asking = new Set<Asking>();
  /** Whose access has ended, until the store has forgotten their sessions. */
  readonly #ending = new Set<string>();
  /** Where other replicas may take sessions over. */
  readonly #doubted: DoubtedSessions | undefined;
  /** What a former has handed over, until their clients come. */
  readonly #handed: HandedSessions;
  /** Takes what is said of sessions from the fence on. */
  #successor: ToldOfSessions | undefined;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(edge: Edge, kept?: KeptSessions) {
    this.#edge = edge;
    this.#kept = kept;
    this.#given = new RareLine(edge.clock, edge.report);
    this.setups = new SetupBytes(edge.limits.setupBytesOfAll);
    this.budget = new ByteBudget(edge.limits.keptBytesOfAll, () => this.#relieve());
    const { peers, clock, front, limits } = edge;
    this.#handed = new HandedSessions({
      clock,
      maxSessions: limits.sessions,
      maxBytes: limits.keptBytesOfAll,
      keepMs: limits.sessionIdleMs,
    });
    this.#doubted =
      kept &&
      peers &&
      new DoubtedSessions({
        ...{ kept, peers, clock },
        sessions: () => [...this.#sessions.values()],
        remove: (session) => this.#remove(session),
        caught: (error) => front.caught(error),
      });
    const { budget } = this;
    edge.outgoing.addSavings({
      get bytes() {
        return budget.bytes;
      },
      giveUp: (bytes) => this.#economise(budget.bytes - bytes),
    });
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** A new session, which its client sets up with so many bytes; undefined if the table is full of sessions in use. */
  open(principal: Principal, bytes: number): HttpSession | undefined {
    return this.#add(newSessionId(), principal, bytes);
  }

  #add(
    id: string,
    principal: Principal,
    bytes: number,
    former?: ClientSetup,
  ): HttpSession | undefined {
    if (!this.#hasRoomFor(principal, bytes)) return undefined;
    const before = this.#handed.remove(id);
    const session = new HttpSession(id, principal, this.#edge, this, former, before);
    this.setups.weigh(session, bytes);
    session.lastUsedAt = this.#edge.clock.now();
    session.place = this.#order.add(session);
    this.#sessions.set(session.id, session);
    this.#counts.add(ownerOf(principal).id);
    this.#doubted?.opened(session);
    if (this.#timer === undefined) this.#expireLater();
    return session;
  }

  /** The session with this id, if it is this principal's; a promise if the store has to be asked. */
  find(id: string, principal: Principal): FoundSession | Promise<FoundSession> {
    const session = this.#sessions.get(id);
    if (session === undefined && this.#ended.has(id)) return undefined;
    if (session === undefined) return this.#findElsewhere(id, principal);
    if (!isSamePrincipal(session.principal, principal)) return undefined;
    this.used(session);
    return this.#doubted?.isDoubted(session) ? this.#doubted.find(session) : session;
  }

  #findElsewhere(id: string, principal: Principal): FoundSession | Promise<FoundSession> {
    const handed = this.#handed.find(id, principal);
    const from = handed?.from === undefined ? undefined : new Elsewhere(handed.from);
    if (this.#kept) return this.#search(this.#kept, id, principal, from);
    return handed && this.#beginHanded(handed, principal);
  }

  /** One that is in no store. */
  #beginHanded({ id, setup, from }: HandedSession, principal: Principal): FoundSession {
    const former = ClientSetup.from(setup);
    if (former === undefined || this.#isClosed) return undefined;
    const begun = this.#add(id, principal, former.bytes, former);
    if (begun !== undefined) this.#took(begun, from);
    return begun ?? 'unavailable';
  }

  /** One that another replica had, which is gone. */
  async takeOver(id: string, principal: Principal, from: Elsewhere): Promise<FoundSession> {
    const kept = this.#kept;
    const found = kept && (await this.#search(kept, id, principal, from));
    if (!(found instanceof HttpSession)) return found;
    this.used(found);
    return found;
  }

  /** What is here of a session that another replica has by now. */
  left(id: string, principal: Principal): HttpSession | undefined {
    const session = this.#doubted?.leaving(id) ?? this.#sessions.get(id);
    if (session === undefined || session.isClosed) return undefined;
    return isSamePrincipal(session.principal, principal) ? session : undefined;
  }

  async #search(
    kept: KeptSessions,
    id: string,
    principal: Principal,
    from?: Elsewhere,
  ): Promise<FoundSession> {
    const owner = ownerOf(principal).id;
    if (this.#ending.has(owner)) return undefined;
    const asked = `${principal.id}\n${principal.role}\n${id}\n${from?.replica ?? ''}`;
    const looking = () =>
      from === undefined ? kept.find(id, principal) : kept.takeOver(id, principal, from);
    const search = this.#searches.get(asked) ?? looking();
    this.#searches.set(asked, search);
    const asking = { owner, isBarred: false };
    this.#asking.add(asking);
    const former = await search.finally(() => {
      this.#searches.delete(asked);
      this.#asking.delete(asking);
    });
    if (asking.isBarred) return undefined;
    const session = this.#sessions.get(id);
    // Another request may have begun it again, or ended it, or the front may be closed, meanwhile.
    if (session) return isSamePrincipal(session.principal, principal) ? session : undefined;
    if (this.#ended.has(id)) return undefined;
    // What its former, or this process now, could not store; nobody else can have it then.
    const isNotStored = former === undefined || (former === 'unavailable' && kept.areNearby);
    const handed = isNotStored ? this.#handed.find(id, principal) : undefined;
    if (handed !== undefined) return this.#beginHanded(handed, principal);
    if (former === undefined) return undefined;
    if (former === 'unavailable' || this.#isClosed) return 'unavailable';
    if (former instanceof Elsewhere) return former;
    const begun = this.#add(id, principal, former.bytes, former);
    if (begun !== undefined) this.#took(begun, kept.formerOf(former));
    return begun ?? 'unavailable';
  }

  /** The replica that had it is told, in case it still runs; it may have what its client continues. */
  #took(session: HttpSession, from: string | undefined): void {
    if (from === undefined) return;
    session.former = from;
    this.#edge.peers?.tookFrom(from);
  }

  get areKept(): boolean {
    return this.#kept !== undefined;
  }

  /** Its client has said this; resolves when it is stored, or cannot be. */
  async keep(session: HttpSession, message?: Message): Promise<void> {
    this.setups.noted(session, message);
    session.storedAt = this.#edge.clock.now();
    if (session.isClosed) return;
    const { id, principal, setup } = session;
    // Its client goes on there, where it has been taken over.
    await this.#kept?.keep(id, principal, setup, () => this.#lost(session));
    if (this.#successor !== undefined) await this.#handOne(session, this.#successor);
  }

  /** Another process has them from now on: it is told of all, and of what happens in them here until the end. */
  handOver(to: ToldOfSessions): void {
    this.#successor = to;
    for (const session of this.#handed.takeAll()) this.#tell(to, { kind: 'session', session });
    for (const session of [...this.#sessions.values()]) {
      this.#handOne(session, to).catch((error: unknown) => this.#edge.front.caught(error));
    }
  }

  async #handOne(session: HttpSession, to: ToldOfSessions): Promise<void> {
    const { id, principal, setup } = session;
    const sent = session.handOver((events) => this.#tell(to, { kind: 'sent', id, events }));
    // It is told of one that is not set up yet when that is done.
    if (setup.texts === undefined) return;
    const { id: owner, role } = principal;
    const what = { id, principal: { id: owner, role }, setup: setup.texts };
    const handed = { ...what, ...sent, from: this.#edge.peers?.id };
    await to(written({ kind: 'session', session: handed }));
  }

  #tell(to: ToldOfSessions, news: SessionNews): void {
    to(written(news)).catch((error: unknown) => this.#edge.front.caught(error));
  }

  /** What a former says; false: it is nothing that can be read. */
  heard(head: unknown, payload: Buffer): boolean {
    const news = read(head, payload);
    if (news === undefined) return false;
    const id = news.kind === 'session' ? news.session.id : news.id;
    const here = this.#sessions.get(id);
    if (news.kind === 'ended') {
      this.#handed.remove(id);
      if (here !== undefined) this.drop(here);
    } else if (here !== undefined) {
      here.addSent(news.kind === 'session' ? news.session.events : news.events);
    } else if (this.#successor !== undefined) this.#tell(this.#successor, news);
    else if (news.kind === 'session' && !this.#ended.has(id)) this.#handed.add(news.session);
    else if (news.kind === 'sent') this.#handed.addEvents(id, news.events);
    return true;
  }

  /** What runs here may end here. */
  #lost(session: HttpSession): void {
    if (this.#doubted === undefined) this.#close(session);
    else this.#doubted.letGo(session);
  }

  used(session: HttpSession): void {
    if (session.place === undefined) return;
    const now = this.#edge.clock.now();
    session.lastUsedAt = now;
    this.#order.used(session.place);
    const isOld = now - session.storedAt > this.#edge.limits.sessionIdleMs / refreshes;
    // It never rejects.
    if (isOld && this.areKept) this.keep(session).catch(ignored);
  }

  /** It is over, also for a later process; resolves when that is stored, or cannot be. */
  async end(session: HttpSession): Promise<void> {
    this.#close(session);
    if (this.#successor !== undefined) {
      this.#tell(this.#successor, { kind: 'ended', id: session.id });
    }
    this.#ended.add(session.id);
    if (this.#ended.size > maxEnded) {
      for (const oldest of this.#ended) {
        this.#ended.delete(oldest);
        break;
      }
    }
    await this.#kept?.forget(session.id);
  }

  /** The same, where nobody waits for it. */
  drop(session: HttpSession): void {
    // It never rejects.
    this.end(session).catch(ignored);
  }

  /** The access of these principals has ended, by id: so do their sessions, stored ones included. */
  endAccess(ids: ReadonlySet<string>): void {
    for (const asking of this.#asking) if (ids.has(asking.owner)) asking.isBarred = true;
    for (const session of [...this.#sessions.values()]) {
      if (!ids.has(ownerOf(session.principal).id)) continue;
      contain(
        () => session.endAccess(),
        (error) => this.#edge.front.caught(error),
      );
      this.drop(session);
    }
    this.#doubted?.endAccess(ids);
    this.#handed.endAccess(ids);
    if (this.#kept === undefined) return;
    for (const id of ids) this.#ending.add(id);
    this.#kept
      .forgetOf(ids)
      .finally(() => {
        for (const id of ids) this.#ending.delete(id);
      })
      .catch((error: unknown) => this.#edge.front.caught(error));
  }

  #close(session: HttpSession): void {
    this.#remove(session);
    session.close();
  }

  /** From the table; it may still have calls that run. */
  #remove(session: HttpSession): void {
    if (this.#sessions.delete(session.id)) this.#counts.remove(ownerOf(session.principal).id);
    if (session.place !== undefined) this.#order.remove(session.place);
    session.place = undefined;
    this.setups.weigh(session, 0);
    if (this.#sessions.size === 0) this.#stopTimer();
  }

  /** Ends the streams that are listened on; their sessions go on. */
  endStreams(): void {
    for (const session of [...this.#sessions.values()]) session.stopListening();
  }

  /** This process ends; the next one may have them. */
  closeAll(): void {
    this.#isClosed = true;
    this.#doubted?.[Symbol.dispose]();
    this.#handed[Symbol.dispose]();
    for (const session of [...this.#sessions.values()]) this.#close(session);
  }

  /** One timer for all: for the session that is first when it fires. */
  #expireLater(): void {
    const { first } = this.#order;
    if (first === undefined) return;
    const { clock, limits } = this.#edge;
    const inMs = first.lastUsedAt + limits.sessionIdleMs - clock.now();
    this.#timer = clock.after(Math.max(0, inMs), () => this.#expire(), true);
  }

  #expire(): void {
    this.#timer = undefined;
    const { clock, limits } = this.#edge;
    const latest = clock.now() - limits.sessionIdleMs;
    let { first } = this.#order;
    while (first && first.lastUsedAt <= latest) {
      // Using one puts it last, with the time of now, so this ends.
      if (first.isBusy) this.used(first);
      else this.drop(first);
      first = this.#order.first;
    }
    this.#expireLater();
  }

  /** Another session of this principal; where there are too many, or they have said too much, idle ones are ended. */
  #hasRoomFor(principal: Principal, bytes: number): boolean {
    const owner = ownerOf(principal).id;
    while (!this.#isWithinNumber(principal)) if (!this.#giveUpOne(owner)) return false;
    if (!this.makeRoom(principal, bytes)) return false;
    if (this.#sessions.size < this.#edge.limits.sessions) return true;
    return this.#giveUpOne(this.#counts.largest()) || this.#giveUpOne();
  }

  /** Whether there is room for so many bytes more of this principal, after idle sessions were ended if need be. */
  makeRoom(principal: Principal, bytes: number): boolean {
    const owner = ownerOf(principal).id;
    while (this.setups.isBeyondShare(principal, bytes)) if (!this.#giveUpOne(owner)) return false;
    // First of the one who has the most.
    while (this.setups.isFull(bytes)) {
      if (!this.#giveUpOne(this.setups.largest()) && !this.#giveUpOne()) return false;
    }
    return true;
  }

  /** Whether this principal may have another session beside its own, which is set up with so many bytes. */
  isWithinShare(principal: Principal, bytes: number): boolean {
    return !this.setups.isBeyondShare(principal, bytes) && this.#isWithinNumber(principal);
  }

  #isWithinNumber(principal: Principal): boolean {
    if (isLocalUser(principal)) return true;
    return this.#counts.of(ownerOf(principal).id) < shareOf(this.#edge.limits.sessions);
  }

  /** Makes room by ending the session, of this owner if one is given, that has been idle longest. */
  #giveUpOne(owner?: string): boolean {
    for (const session of this.#order) {
      if (session.isBusy) continue;
      if (owner !== undefined && ownerOf(session.principal).id !== owner) continue;
      const { size } = this.#sessions;
      this.#given.say(
        () => `http: ${size} sessions are open; the one idle longest was ended to make room`,
      );
      this.drop(session);
      return true;
    }
    return false;
  }

  /** A client of the other legacy transport comes; the result is called when it goes. */
  counted(principal: Principal): () => void {
    const owner = ownerOf(principal).id;
    this.#counts.add(owner);
    let isHere = true;
    return () => {
      if (isHere) this.#counts.remove(owner);
      isHere = false;
    };
  }

  /** More was kept: it may be too much for us, or for all that waits. */
  #relieve(): void {
    if (this.budget.isExceeded) this.#economise(this.#edge.limits.keptBytesOfAll);
    this.#edge.outgoing.check();
  }

  /** Until they keep no more than this, sessions drop stored events, those idle longest first. */
  #economise(bytes: number): void {
    for (const session of this.#order) {
      if (this.budget.bytes <= bytes) return;
      session.forget();
    }
  }

  #stopTimer(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}

/** 144 random bits, in letters that every header and query can carry. */
export function newSessionId(): string {
  return randomBytes(18).toString('base64url');
}

/** The same principal with the same rights; a session does not outlive a change of role. */
export function isSamePrincipal(one: Principal, other: Principal): boolean {
  return one.id === other.id && one.role === other.role;
}
