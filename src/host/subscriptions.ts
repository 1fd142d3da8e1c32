// What a server has been asked to tell us on one of its connections: that its lists changed, and that
// resources were updated which clients watch. Modern servers hear it as one open
// `subscriptions/listen`, legacy ones as one `resources/subscribe` for each resource. The wishes are
// kept here, counted, and said again on every new connection; a server that is watched is held,
// because one that sleeps notices nothing.

import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import type { Supervisor } from '../supervise/supervisor.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Exchange } from '../upstream/exchange.ts';
import type { Message } from '../wire/scan.ts';
import { rpcFault } from './call-faults.ts';

/** A server that ends its stream is asked again after this long. */
const relistenMs = 1_000;
const subscribeMs = 10_000;

export class Subscriptions {
  readonly #clock: Clock;
  readonly #supervisor: () => Supervisor<Connection>;
  readonly #watched = new Map<string, number>();
  #listening: Exchange | undefined;
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
      const count = this.#note(uri);
      if (count > 1) return;
      if (connection.era === 'modern') this.#listen(connection);
      else
        await this.#subscribe(connection, uri).catch((error: unknown) => {
          this.#drop(uri);
          throw error;
        });
    } catch (error) {
      supervisor.leases.release();
      throw error;
    }
  }

  /** Watches it whenever there is a connection, but needs none. */
  wish(uri: string): void {
    const count = this.#note(uri);
    const { connection } = this.#supervisor();
    if (!connection || count > 1) return;
    if (connection.era === 'modern') this.#listen(connection);
    else this.#subscribe(connection, uri).catch(ignored);
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
    this.#connection = connection;
    if (connection.era === 'modern') return this.#listen(connection);
    for (const uri of this.#watched.keys()) say(connection, 'resources/subscribe', uri);
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
    if (filter !== undefined) {
      const members = `"notifications":${filter}`;
      const listening = connection.request(
        'subscriptions/listen',
        { members },
        { background: true },
      );
      this.#listening = listening;
      const over = ({ kind }: Message) => {
        // A server that refuses would refuse every second.
        if (kind === 'result') this.#ended(connection, listening);
      };
      listening.answer.then(over).catch(ignored);
    }
    before?.cancel(new Fault('cancelled', 'replaced by another subscription'));
  }

  #ended(connection: Connection, listening: Exchange): void {
    if (this.#listening !== listening) return;
    this.#listening = undefined;
    this.#clock.after(
      relistenMs,
      () => {
        const isStill = this.#connection === connection && !connection.isLost;
        if (isStill && this.#listening === undefined) this.#listen(connection);
      },
      true,
    );
  }

  /** How many watch it now. */
  #note(uri: string): number {
    const count = (this.#watched.get(uri) ?? 0) + 1;
    this.#watched.set(uri, count);
    return count;
  }

  /** How many still watch it. */
  #drop(uri: string): number {
    const count = (this.#watched.get(uri) ?? 1) - 1;
    if (count > 0) this.#watched.set(uri, count);
    else this.#watched.delete(uri);
    return count;
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

/** Without it the list is simply read again when its time is over; the connection tells its own end. */
function ignored(): void {}
