// When a request is passed on to another replica, and to which: one of a legacy session to the replica that has the
// session; one that continues a call to the replica that has the call; and, while this replica shuts down, new work to
// any other. A request that was passed on once is not passed on again. A session whose replica is gone is taken over.

import { isLocalUser, ownerOf } from '../../../policy/principal.ts';
import type { Message } from '../../../wire/scan.ts';
import type { Edge } from '../http-context.ts';
import type { HttpSession } from '../legacy/http-session.ts';
import type { FoundSession, Sessions } from '../legacy/sessions.ts';
import type { RequestContext } from '../route-table.ts';
import { forward, refuseMoved } from './forward.ts';
import { type Connected, Elsewhere, type Peers } from './peers.ts';

/** `unknown`: whether it is there cannot be said now. */
async function connected(
  peers: Peers,
  replica: string,
): Promise<Connected | { readonly connection: 'unknown'; readonly isEnding: false } | undefined> {
  try {
    return await peers.connect(replica);
  } catch {
    // The bus is lost at the moment, and says so itself.
    return { connection: 'unknown', isEnding: false };
  }
}

/** So often a session is looked for again that has moved meanwhile. */
const maxMoves = 4;

export class PassingOn {
  readonly #edge: Edge;
  readonly #sessions: Sessions;

  constructor(edge: Edge, sessions: Sessions) {
    this.#edge = edge;
    this.#sessions = sessions;
  }

  /**
   * A request of a session that another replica has: passed on there, or the session is taken over. `answered`: nothing
   * is left to do.
   */
  async inSession(
    id: string,
    where: Elsewhere,
    context: RequestContext,
    message: Message | undefined,
  ): Promise<HttpSession | 'unavailable' | 'answered' | undefined> {
    const { peers } = this.#edge;
    let found: FoundSession = where;
    for (let moves = 0; moves < maxMoves && peers !== undefined; moves += 1) {
      if (!(found instanceof Elsewhere)) return found;
      const next = await this.#passOn(peers, id, found, context, message);
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
    message: Message | undefined,
  ): Promise<FoundSession | 'answered'> {
    const { principal, res, req } = context;
    const { connection, isEnding } = (await connected(peers, where.replica)) ?? {};
    if (connection === 'unknown') return 'unavailable';
    const isNew = req.method === 'GET' || message?.kind === 'request';
    if (connection === undefined || (isEnding && isNew)) {
      connection?.destroy();
      if (this.handsOver(context) && (await this.toAnother(context, message, false))) {
        return 'answered';
      }
      return res.closed ? 'answered' : await this.#sessions.takeOver(id, principal, where);
    }
    if (this.#isPassedOn(context)) {
      connection.destroy();
      refuseMoved(res);
      return 'answered';
    }
    const end = await forward(connection, { context, message, isModern: false, edge: this.#edge });
    return end === 'answered' ? 'answered' : await this.#sessions.find(id, principal);
  }

  /** A request that continues what this replica has; false: that replica is gone, and nothing was done. */
  async toHolder(
    replica: string,
    context: RequestContext,
    message: Message | undefined,
    isModern: boolean,
  ): Promise<boolean> {
    const { peers } = this.#edge;
    const { connection } = (peers && (await connected(peers, replica))) ?? {};
    if (connection === undefined || connection === 'unknown') return false;
    const end = await forward(connection, { context, message, isModern, edge: this.#edge });
    return end === 'answered';
  }

  /** To any other replica, because this one shuts down; false: there is none, and nothing was done. */
  async toAnother(
    context: RequestContext,
    message: Message | undefined,
    isModern: boolean,
  ): Promise<boolean> {
    const edge = this.#edge;
    // Another one may begin to shut down in the same moment.
    for (let moves = 0; moves < maxMoves; moves += 1) {
      const connection = await edge.peers?.connectAny();
      if (connection === undefined) return false;
      const end = await forward(connection, { context, message, isModern, edge });
      if (end === 'answered') return true;
    }
    return false;
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
    if (this.#edge.peers === undefined || isLocalUser(ownerOf(context.principal))) return false;
    return this.#isEnding && !this.#isPassedOn(context);
  }

  /** Whether what this replica has may be asked for there. */
  mayPassOn(replica: string, context: RequestContext): boolean {
    const { peers } = this.#edge;
    return peers !== undefined && replica !== peers.id && !this.#isPassedOn(context);
  }

  get #isEnding(): boolean {
    return this.#edge.isEnding?.() ?? false;
  }

  #isPassedOn({ req }: RequestContext): boolean {
    return this.#edge.isFromPeer?.(req.socket) ?? false;
  }
}
