// When a request is passed on to another replica, and to which: one of a legacy session to the replica that has the
// session; one that continues a call to the replica that has the call; and, while this replica shuts down, new work to
// any other. A request that was passed on once is not passed on again, but for what only a former holder of its session
// knows. A session whose replica is gone is taken over.

import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { isLocalUser, ownerOf } from '../../../policy/principal.ts';
import type { Edge } from '../http-context.ts';
import type { HttpSession } from '../legacy/http-session.ts';
import type { FoundSession, Sessions } from '../legacy/sessions.ts';
import type { RequestContext } from '../route-table.ts';
import { type Carried, hasEnd, isNewWork } from './carried.ts';
import { formerHeader, forward, refuseMoved } from './forward.ts';
import { type Connected, Elsewhere, type NotConnected, type Peers } from './peers.ts';
import { UnderWay } from './under-way.ts';

/** What came of a request for one replica. */
export type ToHolder =
  | 'answered'
  /** That replica is gone, or has nothing of it; nothing was done. */
  | 'gone'
  /** That cannot be said now; nothing was done. */
  | 'unknown';

/** So often a session is looked for again that has moved meanwhile, and a replica that accepts work. */
const maxMoves = 4;

export class PassingOn {
  readonly #edge: Edge;
  readonly #sessions: Sessions;
  readonly #underWay: UnderWay;
  /** Those passed on that have no end of their own, each until it is closed, with their connections. */
  readonly #endless = new Map<ServerResponse, Duplex>();

  constructor(edge: Edge, sessions: Sessions) {
    this.#edge = edge;
    this.#sessions = sessions;
    this.#underWay = new UnderWay(edge.clock);
  }

  /** How many requests have been passed on that have no answer yet. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /** Resolves when they have been answered: within this time, or else by us. */
  drain(ms: number): Promise<void> {
    return this.#underWay.drain(ms);
  }

  /**
   * A request of a session that another replica has: passed on there, or the session is taken over. `answered`: nothing
   * is left to do.
   */
  async inSession(
    id: string,
    where: Elsewhere,
    context: RequestContext,
    carried: Carried,
  ): Promise<HttpSession | 'unavailable' | 'answered' | undefined> {
    const { peers } = this.#edge;
    let found: FoundSession = where;
    for (let moves = 0; moves < maxMoves && peers !== undefined; moves += 1) {
      if (!(found instanceof Elsewhere)) return found;
      const next = await this.#passOn(peers, id, found, context, carried);
      if (next === 'answered') return 'answered';
      found = next;
    }
    return found instanceof Elsewhere ? 'unavailable' : found;
  }

  async #passOn(
    peers: Peers,
    id: string,
    where: Elsewhere,
    context: RequestContext,
    carried: Carried,
  ): Promise<FoundSession | 'answered'> {
    const { principal, res, req } = context;
    const connected = await peers.connect(where.replica);
    if (connected === 'unknown') return 'unavailable';
    const holder = holding(connected);
    if (holder === undefined || (holder.isEnding && isNewWork(req, carried))) {
      holder?.connection.destroy();
      if (this.handsOver(context) && (await this.toAnother(context, carried, false))) {
        return 'answered';
      }
      return res.closed ? 'answered' : await this.#sessions.takeOver(id, principal, where);
    }
    if (this.#isPassedOn(context)) {
      holder.connection.destroy();
      refuseMoved(res);
      return 'answered';
    }
    const end = await this.#forward(holder.connection, context, carried, false);
    return end === 'answered' ? 'answered' : await this.#sessions.find(id, principal);
  }

  /** A request that continues what this replica has. */
  async toHolder(
    replica: string,
    context: RequestContext,
    carried: Carried,
    isModern: boolean,
    more: readonly string[] = [],
  ): Promise<ToHolder> {
    const connected = (await this.#edge.peers?.connect(replica)) ?? 'absent';
    if (connected === 'absent') return 'gone';
    if (typeof connected === 'string' || connected.connection.destroyed) return 'unknown';
    const end = await this.#forward(connected.connection, context, carried, isModern, more);
    return end === 'answered' ? 'answered' : 'gone';
  }

  /** To a replica that had the session of this request: it may have what the request continues. */
  async toFormer(replica: string, context: RequestContext, carried: Carried): Promise<ToHolder> {
    return await this.toHolder(replica, context, carried, false, [formerHeader, 'yes']);
  }

  /** To any other replica, because this one shuts down; false: there is none, and nothing was done. */
  async toAnother(context: RequestContext, carried: Carried, isModern: boolean): Promise<boolean> {
    // Another one may begin to shut down in the same moment, or stand still.
    for (let moves = 0; moves < maxMoves; moves += 1) {
      const connection = (await this.#edge.peers?.connectAny()) ?? 'absent';
      if (connection === 'late') continue;
      if (typeof connection === 'string') return false;
      const end = await this.#forward(connection, context, carried, isModern);
      if (end === 'answered') return true;
    }
    return false;
  }

  async #forward(
    connection: Duplex,
    context: RequestContext,
    carried: Carried,
    isModern: boolean,
    more: readonly string[] = [],
  ): Promise<'answered' | 'moved'> {
    const { res, req } = context;
    const edge = this.#edge;
    if (hasEnd(req, carried)) this.#underWay.began(res, connection);
    else if (!res.closed) {
      if (!this.#endless.has(res)) res.once('close', () => this.#endless.delete(res));
      this.#endless.set(res, connection);
    }
    const end = await forward(connection, { context, carried, isModern, edge, more });
    if (end === 'moved') this.#underWay.ended(res);
    return end;
  }

  /** Ends the streams that were passed on and have begun: their clients come again, and to another replica. */
  endEndless(): void {
    for (const [res, connection] of [...this.#endless]) {
      if (res.headersSent) res.end(() => void connection.destroy());
    }
  }

  /** New work that another replica has passed on just before this one began to shut down: it has to look again. */
  isMisplaced(context: RequestContext): boolean {
    return this.#isEnding && this.#isPassedOn(context);
  }

  /**
   * Whether a request from a client, not from another replica, is better served by another one. The token of the local
   * user is good on this machine only.
   */
  handsOver(context: RequestContext): boolean {
    const { peers } = this.#edge;
    const isStranger = peers?.isOneMachine !== true && isLocalUser(ownerOf(context.principal));
    if (peers === undefined || isStranger) return false;
    return this.#isEnding && !this.#isPassedOn(context);
  }

  /** Whether what this replica has may be asked for there. */
  mayPassOn(replica: string, context: RequestContext): boolean {
    const { peers } = this.#edge;
    return peers !== undefined && replica !== peers.id && !this.#isPassedOn(context);
  }

  /** Whether another replica asks for what is left here of a session that it has now. */
  isForFormer(context: RequestContext): boolean {
    return this.#isPassedOn(context) && context.req.headers[formerHeader] !== undefined;
  }

  #isPassedOn({ req }: RequestContext): boolean {
    return this.#edge.isFromPeer?.(req.socket) ?? false;
  }

  get #isEnding(): boolean {
    return this.#edge.isEnding?.() ?? false;
  }
}

/** One that does not answer in time is taken for gone; if it only stood still, it is told. */
function holding(connected: Connected | NotConnected): Connected | undefined {
  return typeof connected === 'string' ? undefined : connected;
}
