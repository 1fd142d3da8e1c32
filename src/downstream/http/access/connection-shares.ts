// Which principal uses which connection, so that no principal can have all connections: a remote one may
// have three quarters of them. A connection belongs to the principal of the latest request on it; open
// streams and requests under way hold theirs. The local user has no such limit. When the access of a principal
// ends, its connections with an unfinished response are closed: what was written is still sent, for a moment. The
// others stay, because whoever has them may use them for another request, and would lose that.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Deadlines } from '../../../kernel/deadlines.ts';
import { OwnerCounts, shareOf } from '../../../kernel/owner-counts.ts';
import { isLocalUser, ownerOf, type Principal } from '../../../policy/principal.ts';

/** For a client that does not read. */
const lastWordsMs = 500;

/** What a connection is used for. */
interface Use {
  owner: string;
  /** The latest, until it is over. */
  res: ServerResponse | undefined;
}

export class ConnectionShares {
  readonly #deadlines: Deadlines;
  readonly #share: number;
  readonly #counts = new OwnerCounts();
  /** By connection, until it is closed: a note for each request would outlive the request. */
  readonly #uses = new Map<Socket, Use>();

  constructor(connections: number, deadlines: Deadlines) {
    this.#deadlines = deadlines;
    this.#share = shareOf(connections);
  }

  /** How many principals have connections. */
  get size(): number {
    return this.#counts.size;
  }

  /** A request of this principal, with its response; false: it has too many other connections. */
  admits(res: ServerResponse, principal: Principal): boolean {
    const { socket } = res.req;
    const owner = ownerOf(principal).id;
    const use = this.#uses.get(socket);
    if (socket.destroyed) return true;
    if (use?.owner === owner) {
      use.res = res;
      return true;
    }
    if (!isLocalUser(principal) && this.#counts.of(owner) >= this.#share) return false;
    this.#counts.add(owner);
    if (use === undefined) {
      this.#uses.set(socket, { owner, res });
      socket.once('close', () => this.#closed(socket));
    } else {
      this.#counts.remove(use.owner);
      use.owner = owner;
      use.res = res;
    }
    return true;
  }

  /** A response is over. */
  over(res: ServerResponse): void {
    const use = this.#uses.get(res.req.socket);
    if (use?.res === res) use.res = undefined;
  }

  /** Closes the connections on which a response of theirs is not finished. */
  endAccess(ids: ReadonlySet<string>): void {
    for (const [socket, use] of [...this.#uses]) {
      const { owner, res } = use;
      if (res === undefined || !ids.has(owner)) continue;
      const late = this.#deadlines.after(lastWordsMs, () => void socket.destroy());
      res.once('close', () => late[Symbol.dispose]());
      if (!res.writableEnded) socket.destroySoon();
    }
  }

  #closed(socket: Socket): void {
    const use = this.#uses.get(socket);
    this.#uses.delete(socket);
    if (use !== undefined) this.#counts.remove(use.owner);
  }
}
