// One place for a connection to a server, under supervision of its own: the one that everybody
// shares, or one that belongs to a single client. It knows who has used the connection that stands
// in it now, because that decides for whom a word of the server can be: a connection that only one
// client has ever used speaks to that client and to nobody else.

import type { Clock } from '../../kernel/clock.ts';
import type { Supervisor } from '../../supervise/supervisor.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Era } from '../../wire/eras.ts';
import type { CallDeadline } from '../call/call-deadline.ts';
import type { Catalogue } from '../lists/catalogue.ts';
import type { Caller, Client } from './caller.ts';
import type { ClientClass } from './client-class.ts';
import { Subscriptions } from './subscriptions.ts';

/** For whom a connection is made: the era it should speak, and the clients it is greeted for. */
export interface Aim {
  readonly era: Era;
  readonly clients: ClientClass;
}

export class ConnectionSlot {
  /** Whose it is alone; null for one that is shared. */
  owner: string | null;
  /** Of the connection that stands in it; of the next one while there is none. */
  aim: Aim;
  /** The era of the clients it is kept for; its server may speak another one on it. */
  wished: Era;
  /** What its clients are offered; set when the connection is made. */
  catalogue: Catalogue | undefined;
  /** Another connection serves its clients as well: it ends as soon as nobody uses it. */
  isDuplicate = false;
  readonly supervisor: Supervisor<Connection>;
  readonly subscriptions: Subscriptions;
  /** The calls it carries, in the order they came, and the time each has; few, and never a Map (see ring-map). */
  readonly #callers: Caller[] = [];
  readonly #deadlines: (CallDeadline | undefined)[] = [];
  #client: Client | undefined;
  #isMixed = false;
  #principal: string | undefined;
  #hasManyPrincipals = false;
  #connection: Connection | undefined;
  #spent: Connection | undefined;

  constructor(
    owner: string | null,
    aim: Aim,
    clock: Clock,
    supervise: (slot: ConnectionSlot) => Supervisor<Connection>,
  ) {
    this.owner = owner;
    this.aim = aim;
    this.wished = aim.era;
    this.supervisor = supervise(this);
    this.subscriptions = new Subscriptions(clock, () => this.supervisor);
  }

  /** A call takes its place here; it leaves when it has ended. */
  enter(caller: Caller | undefined): void {
    if (caller === undefined) return;
    this.#callers.push(caller);
    this.#deadlines.push(undefined);
  }

  /** A call is about to use the connection. True if its client is the first to do so. */
  use(connection: Connection, caller: Caller | undefined, deadline: CallDeadline): boolean {
    if (this.#connection !== connection) this.#reset(connection);
    if (caller === undefined) {
      // Somebody who cannot be asked: what the server says may be about their call.
      this.#isMixed = true;
      this.#hasManyPrincipals = true;
      return false;
    }
    this.#deadlines[this.#callers.indexOf(caller)] = deadline;
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
  }

  /** How many calls of clients it carries now. */
  get inFlight(): number {
    return this.#callers.length;
  }

  /** The one client that has ever used this connection. */
  onlyClientOf(connection: Connection | undefined): Client | undefined {
    return this.#isMixed || this.#connection !== connection ? undefined : this.#client;
  }

  /** The one client that its legacy connection knows of, also of one that is still being made. */
  get onlyClient(): Client | undefined {
    const made = this.supervisor.connection ?? this.#connection;
    return made?.era === 'legacy' ? this.onlyClientOf(made) : undefined;
  }

  /** The one client that waits for a connection which nobody has used yet. */
  onlyClientWaitingFor(connection: Connection): Client | undefined {
    if (this.#connection === connection) return undefined;
    const [first] = this.#callers;
    const isOnly = this.#callers.every(({ client }) => client.key === first?.client.key);
    return isOnly ? first?.client : undefined;
  }

  /** Has nobody used it, and nobody been named to it? */
  isUnused(connection: Connection): boolean {
    return this.#connection !== connection;
  }

  /** The connection has been told something of this client before any call: it is the first user. */
  claim(connection: Connection, client: Client): void {
    if (this.#connection === connection) return;
    this.#reset(connection);
    this.#client = client;
  }

  /** Its client is gone: what this connection was told is for nobody else. */
  spend(): void {
    this.#spent = this.supervisor.connection ?? this.#connection;
  }

  /** Was the connection that stands in it a client's own who is gone? Then it ends, and nobody else uses it. */
  get isSpent(): boolean {
    return this.#spent !== undefined && this.supervisor.connection === this.#spent;
  }

  /** The connection is gone for good: nothing of it is kept. */
  ended(connection: Connection): void {
    if (this.#spent === connection) this.#spent = undefined;
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#client = undefined;
  }

  /** Is there no process and nobody who needs one? Then it can be aimed at other clients. */
  get isFree(): boolean {
    const { phase, leases } = this.supervisor;
    return phase.kind === 'idle' && !leases.isWanted && this.#callers.length === 0;
  }

  /** All who have ever used this connection are the same person. */
  isOnePersons(connection: Connection): boolean {
    return !this.#hasManyPrincipals && this.#connection === connection;
  }

  /** The one call that is under way, if there is exactly one. */
  get onlyCaller(): Caller | undefined {
    return this.onlyCallerThat(() => true);
  }

  /** The one call of this kind that the server has, if there is exactly one; who only waits has not spoken yet. */
  onlyCallerThat(isMeant: (caller: Caller) => boolean): Caller | undefined {
    const meant = this.#callers.filter(
      (caller, place) => this.#deadlines[place] !== undefined && isMeant(caller),
    );
    return meant.length === 1 ? meant[0] : undefined;
  }

  /** The call of this client that has been under way longest. */
  oldestCaller(client: Client): Caller | undefined {
    return this.#callers.find((caller) => caller.client.key === client.key);
  }

  /**
   * The client is being asked: its call, or all of its calls if it cannot be told which, may take
   * longer. To be disposed of when it has answered.
   */
  waitingFor(client: Client, caller: Caller | undefined): Disposable {
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

  #reset(connection: Connection): void {
    this.#connection = connection;
    this.#client = undefined;
    this.#isMixed = false;
    this.#principal = undefined;
    this.#hasManyPrincipals = false;
  }
}

/** Keeps the order. By hand: `splice` makes an array of what it removes, `copyWithin` is slow. */
function removeAt(list: unknown[], place: number): void {
  for (let at = place + 1; at < list.length; at++) list[at - 1] = list[at];
  list.pop();
}
