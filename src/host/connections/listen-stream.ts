// One open `subscriptions/listen` at a modern server, for one class of clients: the server may tell each class of
// changes of its own lists only. It is opened again when it ends, sooner or later depending on how long it lasted;
// a server that refuses it is not asked again.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { reopenMs } from '../../kernel/reopen.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import type { Message } from '../../wire/scan.ts';

/** A server that ends its stream at once is asked again after this long at most. */
const longestRelistenMs = 60_000;

export interface ListenStreamParts {
  readonly clock: Clock;
  readonly connection: Connection;
  /** Of the clients that are told of changes, as JSON. */
  readonly capabilities: string;
  /** The addresses that are watched on it. */
  readonly uris: () => readonly string[];
  /** Told when it is there again after a while: some changes may not have been heard. */
  readonly missed: () => void;
}

export class ListenStream {
  readonly #parts: ListenStreamParts;
  #listening: Exchange | undefined;
  #listeningSince = 0;
  /** How long we waited before it was opened; 0 for the first time. */
  #waitedMs = 0;
  #relisten: Disposable | undefined;
  #isEnded = false;

  constructor(parts: ListenStreamParts) {
    this.#parts = parts;
  }

  /** With what is watched now. The new stream is open before the old one ends, so that nothing is missed. */
  open(): void {
    const { connection, capabilities, uris, clock } = this.#parts;
    const filter = filterFor(connection, uris());
    const before = this.#listening;
    this.#listening = undefined;
    this.#relisten?.[Symbol.dispose]();
    if (filter !== undefined) {
      const params = { members: `"notifications":${filter}` };
      const options = { background: true, capabilities };
      const listening = connection.request('subscriptions/listen', params, options);
      this.#listening = listening;
      this.#listeningSince = clock.now();
      const over = ({ kind }: Message) => {
        // A server that refuses would refuse again.
        if (kind === 'result') this.#over(listening);
      };
      // However else it ends, on a connection that is still there it is opened again.
      const broken = () => this.#over(listening);
      listening.answer.then(over, broken).catch(ignored);
    }
    before?.cancel(new Fault('cancelled', 'replaced by another subscription'));
  }

  /** The connection is closed: nothing of it is kept. */
  ended(): void {
    this.#isEnded = true;
    this.#listening = undefined;
    this.#relisten?.[Symbol.dispose]();
    this.#relisten = undefined;
  }

  /** Nobody needs it any more. */
  close(): void {
    const listening = this.#listening;
    this.ended();
    listening?.cancel(new Fault('cancelled', 'its clients are not served any more'));
  }

  #over(listening: Exchange): void {
    const { connection, clock, missed } = this.#parts;
    if (this.#listening !== listening || connection.isLost) return;
    this.#listening = undefined;
    const lastedMs = clock.now() - this.#listeningSince;
    this.#waitedMs = reopenMs({ waitedMs: this.#waitedMs, lastedMs }, longestRelistenMs);
    const again = () => {
      if (this.#isEnded || connection.isLost || this.#listening !== undefined) return;
      this.open();
      missed();
    };
    this.#relisten = clock.after(this.#waitedMs, again, true);
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
