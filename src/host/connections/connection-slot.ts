// One slot for a connection to a server, with its own supervision: shared by clients, or reserved
// for one client. It records who has used its current connection, because that decides which client
// a message of the server can be for: a connection that only one client has ever used belongs to
// that client.

import type { Clock } from '../../kernel/clock.ts';
import type { Supervisor } from '../../supervise/supervisor.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Era } from '../../wire/eras.ts';
import type { CallDeadline } from '../call/call-deadline.ts';
import type { Catalogue } from '../lists/catalogue.ts';
import type { Caller, CallRoots, Client } from './caller.ts';
import type { ClientClass } from './client-class.ts';
import { Subscriptions } from './subscriptions.ts';

/**
 * What a connection is opened for: the era that is tried first, and the clients whose capabilities
 * it declares.
 */
export interface Aim {
  readonly era: Era;
  readonly clients: ClientClass;
  /** The only client that its lists are for; absent: all clients of the class. */
  readonly owner?: string;
  /** The folder that its process runs in, if that is its clients'; empty: that of a client that has none. */
  readonly folder?: string;
}

/** Whether they differ in the class of clients at most: in the modern era one connection serves both. */
export function isSameButClass(one: Aim, other: Aim): boolean {
  return one.era === other.era && one.owner === other.owner && one.folder === other.folder;
}

/** Who has used a connection: which client a message of the server can be for. */
export interface WrittenUsers {
  /** The key of the first. */
  readonly client: string | null;
  readonly isClaimed: boolean;
  readonly isMixed: boolean;
  readonly principal: string | null;
  readonly hasManyPrincipals: boolean;
}

export class ConnectionSlot {
  /** Of the current connection; of the next one while there is none. */
  aim: Aim;
  /** The era of the clients it is kept for; its server may use another one on it. */
  clientEra: Era;
  /** What its clients are offered; set when the connection is made. */
  catalogue: Catalogue | undefined;
  /** The roots that its server is sent, where its client is asked in calls: it serves only calls with these. */
  roots: CallRoots | undefined;
  /** Whose share of reserved connections it uses; undefined: nobody's. */
  sharingOwner: string | undefined;
  /** Another connection serves its clients as well: it is closed as soon as it is unused. */
  isDuplicate = false;
  /** Clients were given other places: it makes no connection any more, and whoever waits for one here goes elsewhere. */
  isRetired = false;
  readonly supervisor: Supervisor<Connection>;
  readonly subscriptions: Subscriptions;
  /**
   * The running calls, in the order they came, and the time each has; few, and never a Map (see
   * ring-map).
   */
  readonly #callers: Caller[] = [];
  readonly #deadlines: (CallDeadline | undefined)[] = [];
  /** The connection that each was sent on last. */
  readonly #sentOn: (Connection | undefined)[] = [];
  /** Called when it is reserved; of calls that wait here, until they do not. */
  readonly #listeners = new Set<() => void>();
  #owner: string | null;
  #client: Client | undefined;
  /** Whether it was claimed for its client, which has not called. */
  #isClaimed = false;
  #isMixed = false;
  #principal: string | undefined;
  #hasManyPrincipals = false;
  #connection: Connection | undefined;
  #spent: Connection | undefined;
  /** Whose it was alone, and the last generation of that time. */
  #former: { readonly owner: string; readonly generation: number } | undefined;

  constructor(
    owner: string | null,
    aim: Aim,
    clock: Clock,
    supervise: (slot: ConnectionSlot) => Supervisor<Connection>,
  ) {
    this.#owner = owner;
    this.aim = aim;
    this.clientEra = aim.era;
    this.supervisor = supervise(this);
    this.subscriptions = new Subscriptions(
      clock,
      () => this.supervisor,
      () => this.catalogue?.aim.clients ?? this.aim.clients,
    );
  }

  /** The client that it is reserved for; null for a shared one. */
  get owner(): string | null {
    return this.#owner;
  }

  set owner(owner: string | null) {
    this.#owner = owner;
    if (owner !== null) for (const listener of [...this.#listeners]) listener();
  }

  /** No other client uses it from now on. */
  reserveFor({ key, sharingOwner }: Pick<Client, 'key' | 'sharingOwner'>): void {
    this.sharingOwner = sharingOwner;
    this.owner = key;
  }

  /** Calls the listener whenever it is reserved for a client. To be disposed of. */
  onReserved(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** A call enters here; it leaves when it has ended. */
  enter(caller: Caller | undefined): void {
    if (caller === undefined) return;
    this.#callers.push(caller);
    this.#deadlines.push(undefined);
    this.#sentOn.push(undefined);
  }

  /** A call is about to use the connection. True if its client is the first to do so. */
  use(connection: Connection, caller: Caller | undefined, deadline: CallDeadline): boolean {
    // It accepts nothing any more, and the slot may have a new connection: what is known of the new
    // one stays.
    if (connection.isLost) return false;
    if (this.#connection !== connection) this.#reset(connection);
    this.#isClaimed = false;
    if (caller === undefined) {
      // A caller that cannot be asked: the server's messages may be about its call.
      this.#isMixed = true;
      this.#hasManyPrincipals = true;
      return false;
    }
    const place = this.#callers.indexOf(caller);
    this.#deadlines[place] = deadline;
    this.#sentOn[place] = connection;
    this.#principal ??= caller.principal.id;
    if (this.#principal !== caller.principal.id) this.#hasManyPrincipals = true;
    const isFirst = this.#client === undefined;
    if (isFirst) this.#client = caller.client;
    else if (this.#client?.key !== caller.client.key) this.#isMixed = true;
    else this.#client = caller.client;
    return isFirst && !this.#isMixed;
  }

  leave(caller: Caller | undefined): void {
    const place = caller === undefined ? -1 : this.#callers.indexOf(caller);
    if (place < 0) return;
    removeAt(this.#callers, place);
    removeAt(this.#deadlines, place);
    removeAt(this.#sentOn, place);
  }

  /**
   * Whether a call with these roots may go here; undefined: its client could not be asked. A server
   * keeps the roots that it was sent.
   */
  suits(roots: CallRoots | undefined): boolean {
    if (roots === undefined) return true;
    if (this.roots !== undefined || roots.key === '') return (this.roots?.key ?? '') === roots.key;
    const { connection } = this.supervisor;
    return connection === undefined || this.isUnused(connection);
  }

  /** The running calls of clients that were sent on this connection. */
  sentOn(connection: Connection | undefined): readonly Caller[] {
    return this.#callers.filter((_caller, place) => this.#sentOn[place] === connection);
  }

  /** How many calls of clients are running. */
  get inFlight(): number {
    return this.#callers.length;
  }

  /** The one client that has ever used this connection. */
  onlyClientOf(connection: Connection | undefined): Client | undefined {
    return this.#isMixed || this.#connection !== connection ? undefined : this.#client;
  }

  /**
   * The only client that its legacy connection knows of, also of one that is still being opened.
   */
  get onlyClient(): Client | undefined {
    const made = this.supervisor.connection ?? this.#connection;
    return made?.era === 'legacy' ? this.onlyClientOf(made) : undefined;
  }

  /** The calls that wait for a connection which nobody has used yet. */
  waitingFor(connection: Connection): readonly Caller[] {
    if (this.#connection === connection || connection.isLost) return [];
    // Others still run on the connection before.
    return this.#callers.filter((_caller, place) => this.#sentOn[place]?.isLost !== false);
  }

  /** The one client that waits for a connection which nobody has used yet. */
  onlyClientWaitingFor(connection: Connection): Client | undefined {
    const waiting = this.waitingFor(connection);
    const [first] = waiting;
    const isOnly = waiting.every(({ client }) => client.key === first?.client.key);
    return isOnly ? first?.client : undefined;
  }

  /** Whether nobody has used it, and no client has been named to it. */
  isUnused(connection: Connection): boolean {
    return this.#connection !== connection;
  }

  /** The server was sent something of this client before any call: it counts as the first user. */
  claim(connection: Connection, client: Client): void {
    if (this.#connection === connection || connection.isLost) return;
    this.#reset(connection);
    this.#client = client;
    this.#isClaimed = true;
  }

  /** That client has left before anything of it was sent: the next one counts as the first. */
  unclaim(connection: Connection, { key }: Client): void {
    if (!this.#isClaimed || this.#connection !== connection || this.#client?.key !== key) return;
    this.#connection = undefined;
    this.#client = undefined;
  }

  /** Neither it nor its lists are one client's any more; what its connection was told stays that client's. */
  disown(): void {
    const { owner: _, ...aim } = this.aim;
    const { phase, generation } = this.supervisor;
    this.roots = undefined;
    // One that is still being made has been told nothing.
    const last = phase.kind === 'starting' ? generation - 1 : generation;
    if (this.owner !== null) this.#former = { owner: this.owner, generation: last };
    this.owner = null;
    this.sharingOwner = undefined;
    this.aim = aim;
  }

  /** The client whom this connection speaks to alone; null: all who use it. */
  ownerOf({ generation }: Connection): string | null {
    const former = this.#former;
    return former && generation <= former.generation ? former.owner : this.owner;
  }

  /** Its client has disconnected: what was sent on this connection is for no other client. */
  spend(): void {
    this.#spent = this.supervisor.connection ?? this.#connection;
  }

  /**
   * Whether its current connection was reserved for a client that has disconnected. Then it ends,
   * and no other client uses it.
   */
  get isSpent(): boolean {
    return this.#spent !== undefined && this.supervisor.connection === this.#spent;
  }

  /** The connection is closed permanently: nothing of it is kept. */
  ended(connection: Connection): void {
    this.subscriptions.ended(connection);
    if (this.#spent === connection) this.#spent = undefined;
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#client = undefined;
  }

  /** Whether there is no process and nobody needs one. Then it can be opened for other clients. */
  get isFree(): boolean {
    const { phase, leases } = this.supervisor;
    return phase.kind === 'idle' && !leases.isWanted && this.#callers.length === 0;
  }

  /** Whether all who have ever used this connection are the same principal. */
  hasOnePrincipal(connection: Connection): boolean {
    return !this.#hasManyPrincipals && this.#connection === connection;
  }

  /** The running call, if there is exactly one. */
  get onlyCaller(): Caller | undefined {
    return this.onlyCallerThat(() => true);
  }

  /**
   * The call of this kind at the server, if there is exactly one; calls that only wait do not
   * count.
   */
  onlyCallerThat(isMeant: (caller: Caller) => boolean): Caller | undefined {
    const meant = this.#callers.filter(
      (caller, place) => this.#deadlines[place] !== undefined && isMeant(caller),
    );
    return meant.length === 1 ? meant[0] : undefined;
  }

  /** The call of this client that has been running longest. */
  oldestCaller(client: Client): Caller | undefined {
    return this.#callers.find((caller) => caller.client.key === client.key);
  }

  /**
   * The client is being asked: its call, or all of its calls if it is unknown which, may take
   * longer. To be disposed of when it has answered.
   */
  holdFor(client: Client, caller: Caller | undefined): Disposable {
    const held = this.#callers.flatMap((own, place) => {
      const deadline = this.#deadlines[place];
      const isMeant = caller ? own === caller : own.client.key === client.key;
      return isMeant && deadline ? [deadline] : [];
    });
    for (const deadline of held) deadline.hold();
    return {
      [Symbol.dispose]: () => {
        for (const deadline of held) deadline.release();
      },
    };
  }

  // --- from one process to the next --------------------------------------------------------

  /**
   * Who has used its connection, or waits to do so, for the next process, which is not told when their calls are sent
   * here; null: nobody, or there is none.
   */
  get written(): WrittenUsers | null {
    const { connection } = this.supervisor;
    if (connection === undefined) return null;
    const isUsed = this.#connection === connection;
    if (!isUsed && this.#callers.length === 0) return null;
    const first = isUsed && this.#client ? [this.#client.key] : [];
    const clients = new Set([...first, ...this.#callers.map(({ client }) => client.key)]);
    const firstOne = isUsed && this.#principal !== undefined ? [this.#principal] : [];
    const principals = new Set([...firstOne, ...this.#callers.map((one) => one.principal.id)]);
    const [client = null] = clients;
    const [principal = null] = principals;
    return {
      client,
      isClaimed: isUsed && this.#isClaimed && clients.size === 1,
      isMixed: (isUsed && this.#isMixed) || clients.size > 1,
      principal,
      hasManyPrincipals: (isUsed && this.#hasManyPrincipals) || principals.size > 1,
    };
  }

  /** Whose it was alone before, and until which generation. */
  get formerOwner(): { readonly owner: string; readonly generation: number } | undefined {
    return this.#former;
  }

  set formerOwner(former: { readonly owner: string; readonly generation: number } | undefined) {
    this.#former = former;
  }

  /** Its connection is taken over from the process before this one, where these have used it. */
  adopted(
    connection: Connection,
    users: WrittenUsers | null,
    client: Client | undefined,
    isSpent: boolean,
  ): void {
    if (isSpent) this.#spent = connection;
    if (users === null) return;
    this.#reset(connection);
    this.#client = client;
    this.#isClaimed = users.isClaimed;
    this.#isMixed = users.isMixed;
    this.#principal = users.principal ?? undefined;
    this.#hasManyPrincipals = users.hasManyPrincipals;
  }

  #reset(connection: Connection): void {
    this.#connection = connection;
    this.#client = undefined;
    this.#isClaimed = false;
    this.#isMixed = false;
    this.#principal = undefined;
    this.#hasManyPrincipals = false;
  }
}

/**
 * Keeps the order. Written as a loop: `splice` allocates an array of what it removes, `copyWithin`
 * is slow.
 */
function removeAt(list: unknown[], place: number): void {
  for (let at = place + 1; at < list.length; at++) list[at - 1] = list[at];
  list.pop();
}
