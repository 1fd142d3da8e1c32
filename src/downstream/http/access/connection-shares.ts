// Which principal uses which connection, so that no principal can have all connections: a remote one may
// have three quarters of them. A connection belongs to the principal of the latest request on it; open
// streams and requests under way hold theirs. The local user has no such limit. When the access of a principal
// ends, its connections are closed.

import type { Socket } from 'node:net';
import { OwnerCounts, shareOf } from '../../../kernel/owner-counts.ts';
import { isLocalUser, ownerOf, type Principal } from '../../../policy/principal.ts';

export class ConnectionShares {
  readonly #share: number;
  readonly #counts = new OwnerCounts();
  /** By connection, until it is closed: a note for each request would outlive the request. */
  readonly #owners = new Map<Socket, string>();

  constructor(connections: number) {
    this.#share = shareOf(connections);
  }

  /** How many principals have connections. */
  get size(): number {
    return this.#counts.size;
  }

  /** A request of this principal on this connection; false: it has too many others. */
  admits(socket: Socket, principal: Principal): boolean {
    const owner = ownerOf(principal).id;
    const before = this.#owners.get(socket);
    if (before === owner || socket.destroyed) return true;
    if (!isLocalUser(principal) && this.#counts.of(owner) >= this.#share) return false;
    if (before !== undefined) this.#counts.remove(before);
    else socket.once('close', () => this.#closed(socket));
    this.#counts.add(owner);
    this.#owners.set(socket, owner);
    return true;
  }

  /** Closes the connections whose latest request was theirs, with whatever runs on them. */
  endAccess(ids: ReadonlySet<string>): void {
    for (const [socket, owner] of [...this.#owners]) if (ids.has(owner)) socket.destroy();
  }

  #closed(socket: Socket): void {
    const owner = this.#owners.get(socket);
    this.#owners.delete(socket);
    if (owner !== undefined) this.#counts.remove(owner);
  }
}
