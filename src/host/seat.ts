// One place for a connection to a server, under supervision of its own: the one that everybody
// shares, or one that belongs to a single client. It knows who has used the connection that stands
// in it now, because that decides for whom a word of the server can be: a connection that only one
// client has ever used speaks to that client and to nobody else.

import type { Supervisor } from '../supervise/supervisor.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Caller, Client } from './caller.ts';

export class Seat {
  /** Whose it is; null for the shared one. */
  readonly owner: string | null;
  readonly supervisor: Supervisor<Connection>;
  readonly #callers = new Set<Caller>();
  #client: Client | undefined;
  #isMixed = false;
  #connection: Connection | undefined;

  constructor(owner: string | null, supervise: (seat: Seat) => Supervisor<Connection>) {
    this.owner = owner;
    this.supervisor = supervise(this);
  }

  /** A call takes its place here; it leaves when it has ended. */
  enter(caller: Caller | undefined): void {
    if (caller !== undefined) this.#callers.add(caller);
  }

  /** A call is about to use the connection. True if its client is the first to do so. */
  use(connection: Connection, caller: Caller | undefined): boolean {
    if (this.#connection !== connection) this.#reset(connection);
    if (caller === undefined) {
      // Somebody who cannot be asked: what the server says may be about their call.
      this.#isMixed = true;
      return false;
    }
    const isFirst = this.#client === undefined;
    if (isFirst) this.#client = caller.client;
    else if (this.#client?.key !== caller.client.key) this.#isMixed = true;
    else this.#client = caller.client;
    return isFirst && !this.#isMixed;
  }

  leave(caller: Caller | undefined): void {
    if (caller !== undefined) this.#callers.delete(caller);
  }

  /** How many calls of clients it carries now. */
  get inFlight(): number {
    return this.#callers.size;
  }

  /** The one client that has ever used this connection. */
  onlyClientOf(connection: Connection | undefined): Client | undefined {
    return this.#isMixed || this.#connection !== connection ? undefined : this.#client;
  }

  /** Several clients, or somebody who cannot be asked, have used this connection. */
  isMixed(connection: Connection): boolean {
    return this.#isMixed && this.#connection === connection;
  }

  /** The one call that is under way, if there is exactly one. */
  get onlyCaller(): Caller | undefined {
    if (this.#callers.size !== 1) return undefined;
    for (const caller of this.#callers) return caller;
    return undefined;
  }

  /** The call of this client that has been under way longest. */
  oldestCaller(client: Client): Caller | undefined {
    for (const caller of this.#callers) if (caller.client.key === client.key) return caller;
    return undefined;
  }

  #reset(connection: Connection): void {
    this.#connection = connection;
    this.#client = undefined;
    this.#isMixed = false;
  }
}
