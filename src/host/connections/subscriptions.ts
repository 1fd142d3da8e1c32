// The subscriptions on one connection of a server: changed lists, and updates of resources that
// clients watch. Modern servers get one open `subscriptions/listen`, legacy ones one
// `resources/subscribe` for each resource. The subscriptions are stored here, counted, and sent
// again on every new connection; a watched server is kept running, because a stopped one reports
// nothing.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { reopenMs } from '../../kernel/reopen.ts';
import type { Supervisor } from '../../supervise/supervisor.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import type { Message } from '../../wire/scan.ts';
import { rpcFault } from '../call/call-faults.ts';

/** A server that ends its stream at once is asked again after this long at most. */
const longestRelistenMs = 60_000;
const subscribeMs = 10_000;

interface Watched {
  count: number;
  /** The legacy server's confirmation; all who watch wait for it. */
  confirmed: Promise<void> | undefined;
}

export class Subscriptions {
  /** Told when the stream of changes is there again after a while: some may not have been heard. */
  missed: () => void = ignored;
  readonly #clock: Clock;
  readonly #supervisor: () => Supervisor<Connection>;
  /** By address; each is there for as long as a client watches it, and clients may watch so many. */
  readonly #watched = new Map<string, Watched>();
  #listening: Exchange | undefined;
  #listeningSince = 0;
  /** How long we waited before the stream was opened; 0 for the first of a connection. */
  #waitedMs = 0;
  #relisten: Disposable | undefined;
  #connection: Connection | undefined;
  /** The addresses that were sent to it before it accepted calls, until it does. */
  #sentAtFirst: readonly string[] = [];

  constructor(clock: Clock, supervisor: () => Supervisor<Connection>) {
    this.#clock = clock;
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
    const { connection } = this.#supervisor();
    if (!connection) return;
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
      this.#listening = undefined;
      this.#waitedMs = 0;
    }
    const more = now.filter((uri) => !before.includes(uri));
    const fewer = before.filter((uri) => !this.#watched.has(uri));
    if (connection.era === 'modern') {
      if (isNew || more.length + fewer.length > 0) this.#listen(connection);
      return;
    }
    for (const uri of more) say(connection, 'resources/subscribe', uri);
    for (const uri of fewer) say(connection, 'resources/unsubscribe', uri);
  }

  /** The connection is closed: nothing of it is kept. */
  ended(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#listening = undefined;
    this.#relisten?.[Symbol.dispose]();
    this.#relisten = undefined;
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
    const exchange = connection.request('resources/subscribe', uriParams(uri));
    using _deadline = this.#clock.after(subscribeMs, () =>
      exchange.cancel(
        new Fault('timeout', `no answer to resources/subscribe within ${subscribeMs} ms`),
      ),
    );
    const message = await exchange.answer;
    if (message.kind === 'error') throw rpcFault(connection, message);
  }

  /** The new stream is open before the old one ends, so that nothing is missed. */
  #listen(connection: Connection): void {
    const filter = filterFor(connection, [...this.#watched.keys()]);
    const before = this.#listening;
    this.#listening = undefined;
    this.#relisten?.[Symbol.dispose]();
    if (filter !== undefined) {
      const members = `"notifications":${filter}`;
      const listening = connection.request(
        'subscriptions/listen',
        { members },
        { background: true },
      );
      this.#listening = listening;
      this.#listeningSince = this.#clock.now();
      const over = ({ kind }: Message) => {
        // A server that refuses would refuse again.
        if (kind === 'result') this.#ended(connection, listening);
      };
      // However else it ends, on a connection that is still there it is opened again.
      const broken = () => this.#ended(connection, listening);
      listening.answer.then(over, broken).catch(ignored);
    }
    before?.cancel(new Fault('cancelled', 'replaced by another subscription'));
  }

  #ended(connection: Connection, listening: Exchange): void {
    if (this.#listening !== listening || connection.isLost) return;
    this.#listening = undefined;
    const lastedMs = this.#clock.now() - this.#listeningSince;
    this.#waitedMs = reopenMs({ waitedMs: this.#waitedMs, lastedMs }, longestRelistenMs);
    const again = () => {
      const isStill = this.#connection === connection && !connection.isLost;
      if (!isStill || this.#listening !== undefined) return;
      this.#listen(connection);
      this.missed();
    };
    this.#relisten = this.#clock.after(this.#waitedMs, again, true);
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

/** The subscriptions that this server supports; undefined if none. */
function filterFor(connection: Connection, uris: readonly string[]): string | undefined {
  const capabilities = connection.greeting.capabilities as Readonly<
    Record<string, { listChanged?: unknown; subscribe?: unknown } | undefined>
  >;
  const filter = {
    ...(capabilities['tools']?.listChanged === true ? { toolsListChanged: true } : {}),
    ...(capabilities['prompts']?.listChanged === true ? { promptsListChanged: true } : {}),
    ...(capabilities['resources']?.listChanged === true ? { resourcesListChanged: true } : {}),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
  };
  return Object.keys(filter).length > 0 ? JSON.stringify(filter) : undefined;
}

/** Whatever the outcome: a server that does not answer is waited for no longer than others. */
function say(connection: Connection, method: string, uri: string): void {
  const options = { deadlineMs: subscribeMs };
  connection.request(method, uriParams(uri), options).answer.catch(ignored);
}

function uriParams(uri: string): { readonly members: string } {
  return { members: `"uri":${JSON.stringify(uri)}` };
}
