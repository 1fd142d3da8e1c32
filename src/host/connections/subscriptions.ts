// The subscriptions on one connection of a server: changed lists, and updates of resources that
// clients watch. Modern servers get one open `subscriptions/listen` for each class of clients (listen-stream.ts),
// legacy ones one `resources/subscribe` for each resource. The subscriptions are stored here, counted, and sent
// again on every new connection; a watched server is kept running, because a stopped one reports
// nothing.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Supervisor } from '../../supervise/supervisor.ts';
import type { Connection } from '../../upstream/connection.ts';
import { rpcFault } from '../call/call-faults.ts';
import type { ClientClass } from './client-class.ts';
import { ListenStream } from './listen-stream.ts';

/** As many classes as have lists of their own; beyond that the oldest stream is closed. */
const maxStreams = 8;
const subscribeMs = 10_000;

interface Watched {
  count: number;
  /** The legacy server's confirmation; all who watch wait for it. */
  confirmed: Promise<void> | undefined;
}

interface ClassStream {
  readonly clients: ClientClass;
  readonly stream: ListenStream;
}

export class Subscriptions {
  /** Told when the stream of changes is there again after a while: some may not have been heard. */
  missed: () => void = ignored;
  /** Told when the stream of a class was closed for want of room: changes of its lists are not heard. */
  unheard: (clients: ClientClass) => void = ignored;
  readonly #clock: Clock;
  readonly #supervisor: () => Supervisor<Connection>;
  /** By address; each is there for as long as a client watches it, and clients may watch so many. */
  readonly #watched = new Map<string, Watched>();
  /** Of the connection, by class of clients; at most maxStreams. */
  readonly #streams = new Map<string, ClassStream>();
  /** The class that the connection was made for. */
  readonly #clients: () => ClientClass;
  #connection: Connection | undefined;
  /** The addresses that the process before this one had asked its legacy server to report on, until it has ended. */
  #told = new Set<string>();
  /** Which one the next process has, and with it what is watched there: nothing of that is ended here. */
  #given: Connection | undefined;
  /** The addresses that were sent to it before it accepted calls, until it does. */
  #sentAtFirst: readonly string[] = [];

  constructor(clock: Clock, supervisor: () => Supervisor<Connection>, clients: () => ClientClass) {
    this.#clock = clock;
    this.#clients = clients;
    this.#supervisor = supervisor;
  }

  /** Watches a resource for one more client. Rejects with the server's own error, or a Fault. */
  async watch(uri: string): Promise<void> {
    const supervisor = this.#supervisor();
    supervisor.leases.hold();
    try {
      // Recorded only then: what is recorded before is sent on every new connection, and so twice.
      const connection = supervisor.connection ?? (await supervisor.acquire());
      const watched = this.#note(uri);
      if (connection.era === 'legacy') await this.#confirmed(connection, uri, watched);
      else if (watched.count === 1) this.#listen(connection);
    } catch (error) {
      supervisor.leases.release();
      throw error;
    }
  }

  /** Watches it whenever there is a connection, but needs none. */
  watchIfConnected(uri: string): void {
    const watched = this.#note(uri);
    const { connection } = this.#supervisor();
    if (!connection || watched.count > 1) return;
    if (connection.era === 'modern') this.#listen(connection);
    // Without it the list is simply read again when its time is over.
    else this.#subscribeOnce(connection, uri, watched).catch(ignored);
  }

  /**
   * The subscriptions are active from now on: the connection is kept open, and opened if there is
   * none.
   */
  hold(): void {
    const supervisor = this.#supervisor();
    supervisor.leases.hold();
    if (!supervisor.connection) supervisor.want();
  }

  /** One client fewer watches it. */
  unwatch(uri: string): void {
    if (!this.#watched.has(uri)) return;
    this.#supervisor().leases.release();
    this.unwatchIfConnected(uri);
  }

  unwatchIfConnected(uri: string): void {
    if (!this.#watched.has(uri) || this.#drop(uri) > 0) return;
    this.#told.delete(uri);
    const { connection } = this.#supervisor();
    if (!connection || connection === this.#given) return;
    if (connection.era === 'modern') this.#listen(connection);
    else say(connection, 'resources/unsubscribe', uri);
  }

  /**
   * A new connection: all subscriptions are sent again. To be called before its lists are read, so
   * that no change of them is missed, and once more when it accepts calls, for subscriptions that
   * came meanwhile.
   */
  connected(connection: Connection): void {
    const isNew = this.#connection !== connection;
    const before = isNew ? [] : this.#sentAtFirst;
    const now = [...this.#watched.keys()];
    this.#sentAtFirst = isNew ? now : [];
    if (isNew) {
      this.#connection = connection;
      this.#told = new Set();
      this.#endStreams();
    }
    const more = now.filter((uri) => !before.includes(uri));
    const fewer = before.filter((uri) => !this.#watched.has(uri));
    if (connection.era === 'modern') {
      if (isNew || more.length + fewer.length > 0) this.#listen(connection);
      return;
    }
    for (const uri of more) this.#tell(connection, uri);
    for (const uri of fewer) say(connection, 'resources/unsubscribe', uri);
  }

  // --- from one process to the next --------------------------------------------------------

  /** What a legacy server was asked to report on; the next process has to listen to a modern one anew. */
  give(): readonly string[] {
    this.#given = this.#connection;
    const isLegacy = this.#connection?.era === 'legacy';
    const told = isLegacy ? [...this.#watched.keys(), ...this.#told] : [];
    for (const { stream } of this.#streams.values()) stream.close();
    this.#streams.clear();
    return [...new Set(told)];
  }

  /** The connection is taken over from the process before this one, which has asked for reports on these. */
  adopted(connection: Connection, told: readonly string[]): void {
    this.#connection = connection;
    this.#told = new Set(connection.era === 'legacy' ? told : []);
    this.#sentAtFirst = [...this.#watched.keys()];
    if (connection.era === 'modern') this.#listen(connection);
    for (const uri of this.#sentAtFirst) this.#tell(connection, uri);
  }

  #tell(connection: Connection, uri: string): void {
    if (connection.era === 'legacy' && !this.#told.has(uri))
      say(connection, 'resources/subscribe', uri);
  }

  /** The connection is closed: nothing of it is kept. */
  ended(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#given = undefined;
    this.#told = new Set();
    this.#endStreams();
  }

  /** @internal Whether something of this connection is kept; for ended-connection.test.ts. */
  keeps(connection: Connection): boolean {
    return this.#connection === connection;
  }

  /** Waits for the server's confirmation; without it this one does not watch. */
  async #confirmed(connection: Connection, uri: string, watched: Watched): Promise<void> {
    try {
      await this.#subscribeOnce(connection, uri, watched);
    } catch (error) {
      this.#drop(uri);
      throw error;
    }
  }

  /** One request for all who watch; after a refusal the next one asks again. */
  #subscribeOnce(connection: Connection, uri: string, watched: Watched): Promise<void> {
    watched.confirmed ??= this.#subscribe(connection, uri).catch((error: unknown) => {
      watched.confirmed = undefined;
      throw error;
    });
    return watched.confirmed;
  }

  async #subscribe(connection: Connection, uri: string): Promise<void> {
    if (this.#connection === connection && this.#told.has(uri)) return;
    const exchange = connection.request('resources/subscribe', uriParams(uri));
    using _deadline = this.#clock.after(subscribeMs, () =>
      exchange.cancel(
        new Fault('timeout', `no answer to resources/subscribe within ${subscribeMs} ms`),
      ),
    );
    const message = await exchange.answer;
    if (message.kind === 'error') throw rpcFault(connection, message);
  }

  /** For all addresses that are watched now, and for the class that the connection was made for. */
  #listen(connection: Connection): void {
    this.#stream(connection, this.#clients(), () => [...this.#watched.keys()]).open();
  }

  /** Clients of another class use this connection: they are told of changes of their own lists. */
  listenFor(connection: Connection, clients: ClientClass): void {
    const isIts = this.#connection === connection && connection.era === 'modern';
    if (!isIts || this.#streams.has(clients.key) || clients.key === this.#clients().key) return;
    if (this.#streams.size >= maxStreams) this.#closeOldest();
    this.#stream(connection, clients, () => []).open();
  }

  /** Clients of this class are served as others from now on. */
  leave(clients: ClientClass): void {
    if (clients.key !== this.#clients().key) this.#close(clients);
  }

  /** The one of this class, or a new one. */
  #stream(
    connection: Connection,
    clients: ClientClass,
    uris: () => readonly string[],
  ): ListenStream {
    const { key, capabilities } = clients;
    const known = this.#streams.get(key);
    if (known) return known.stream;
    const missed = () => this.missed();
    const clock = this.#clock;
    const stream = new ListenStream({ clock, connection, capabilities, uris, missed });
    this.#streams.set(key, { clients, stream });
    return stream;
  }

  #closeOldest(): void {
    const own = this.#clients().key;
    const oldest = [...this.#streams.values()].find(({ clients }) => clients.key !== own);
    if (oldest === undefined) return;
    this.#close(oldest.clients);
    this.unheard(oldest.clients);
  }

  #close({ key }: ClientClass): void {
    this.#streams.get(key)?.stream.close();
    this.#streams.delete(key);
  }

  #endStreams(): void {
    for (const { stream } of this.#streams.values()) stream.ended();
    this.#streams.clear();
  }

  #note(uri: string): Watched {
    const watched = this.#watched.get(uri) ?? { count: 0, confirmed: undefined };
    watched.count += 1;
    this.#watched.set(uri, watched);
    return watched;
  }

  /** How many still watch it. */
  #drop(uri: string): number {
    const watched = this.#watched.get(uri);
    if (!watched) return 0;
    watched.count -= 1;
    if (watched.count === 0) this.#watched.delete(uri);
    return watched.count;
  }

  /** How many addresses are watched. */
  get size(): number {
    return this.#watched.size;
  }
}

/** Whatever the outcome: a server that does not answer is waited for no longer than others. */
function say(connection: Connection, method: string, uri: string): void {
  const options = { deadlineMs: subscribeMs };
  connection.request(method, uriParams(uri), options).answer.catch(ignored);
}

function uriParams(uri: string): { readonly members: string } {
  return { members: `"uri":${JSON.stringify(uri)}` };
}
