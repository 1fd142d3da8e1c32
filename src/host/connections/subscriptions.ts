// What a server has been asked to tell us on one of its connections: that its lists changed, and that
// resources were updated which clients watch. Modern servers hear it as one open
// `subscriptions/listen`, legacy ones as one `resources/subscribe` for each resource. The wishes are
// kept here, counted, and said again on every new connection; a server that is watched is held,
// because one that sleeps notices nothing.

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
  /** The legacy server's word that it will tell; everybody who watches waits for it. */
  confirmed: Promise<void> | undefined;
}

export class Subscriptions {
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

  constructor(clock: Clock, supervisor: () => Supervisor<Connection>) {
    this.#clock = clock;
    this.#supervisor = supervisor;
  }

  /** Watches a resource for one more client. Rejects with the server's own error, or a Fault. */
  async watch(uri: string): Promise<void> {
    const supervisor = this.#supervisor();
    supervisor.leases.hold();
    try {
      // Noted only then: what is noted before is said to every new connection, and so twice.
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
  wish(uri: string): void {
    const watched = this.#note(uri);
    const { connection } = this.#supervisor();
    if (!connection || watched.count > 1) return;
    if (connection.era === 'modern') this.#listen(connection);
    // Without it the list is simply read again when its time is over.
    else this.#subscribeOnce(connection, uri, watched).catch(ignored);
  }

  /** What was wished is watched from now on: the connection is held, and made if there is none. */
  hold(): void {
    const supervisor = this.#supervisor();
    supervisor.leases.hold();
    if (!supervisor.connection) supervisor.want();
  }

  /** One client fewer watches it. */
  unwatch(uri: string): void {
    if (!this.#watched.has(uri)) return;
    this.#supervisor().leases.release();
    this.unwish(uri);
  }

  unwish(uri: string): void {
    if (!this.#watched.has(uri) || this.#drop(uri) > 0) return;
    const { connection } = this.#supervisor();
    if (!connection) return;
    if (connection.era === 'modern') this.#listen(connection);
    else say(connection, 'resources/unsubscribe', uri);
  }

  /** A new connection: everything that was wished is said again. */
  connected(connection: Connection): void {
    this.#listening = undefined;
    this.#waitedMs = 0;
    this.#connection = connection;
    if (connection.era === 'modern') return this.#listen(connection);
    for (const uri of this.#watched.keys()) say(connection, 'resources/subscribe', uri);
  }

  /** Waits for the server's word; without it this one does not watch. */
  async #confirmed(connection: Connection, uri: string, watched: Watched): Promise<void> {
    try {
      await this.#subscribeOnce(connection, uri, watched);
    } catch (error) {
      this.#drop(uri);
      throw error;
    }
  }

  /** One question for all who watch; after a refusal the next one asks again. */
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

  /** The new stream stands before the old one ends, so that nothing falls between. */
  #listen(connection: Connection): void {
    const filter = filterFor(connection, [...this.#watched.keys()]);
    const before = this.#listening;
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
      // Without it the list is simply read again when its time is over; the connection tells its own end.
      listening.answer.then(over).catch(ignored);
    }
    before?.cancel(new Fault('cancelled', 'replaced by another subscription'));
  }

  #ended(connection: Connection, listening: Exchange): void {
    if (this.#listening !== listening) return;
    this.#listening = undefined;
    const lastedMs = this.#clock.now() - this.#listeningSince;
    this.#waitedMs = reopenMs({ waitedMs: this.#waitedMs, lastedMs }, longestRelistenMs);
    const again = () => {
      const isStill = this.#connection === connection && !connection.isLost;
      if (isStill && this.#listening === undefined) this.#listen(connection);
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

/** What this server can tell, of what is wished; undefined if nothing. */
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

/** Whatever becomes of it: a server that does not answer is waited for no longer than others. */
function say(connection: Connection, method: string, uri: string): void {
  const options = { deadlineMs: subscribeMs };
  connection.request(method, uriParams(uri), options).answer.catch(ignored);
}

function uriParams(uri: string): { readonly members: string } {
  return { members: `"uri":${JSON.stringify(uri)}` };
}
