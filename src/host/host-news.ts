// Changes that the clients of a gateway are notified of: a changed list, an updated resource that
// they watch, their tasks, and servers that were added, removed or reconfigured. One place to
// listen, for all servers.

import type { Config } from '../config/schema.ts';
import { contain } from '../kernel/contain.ts';
import type { Message } from '../wire/scan.ts';
import type { ListKind } from './lists/listings.ts';
import type { Server } from './servers/server.ts';
import type { TaskNews } from './tasks/begun-task.ts';

/** Who is to know of a change. */
export interface UpdateAudience {
  /** The client of a reserved connection; null: all that watch it. */
  readonly owner: string | null;
  /** Only clients of this folder; undefined: all. */
  readonly folder: string | undefined;
}

/** `first`: it was never known before. `announced`: a change was reported, and it has been read. */
export type ListChange = 'first' | 'new' | 'announced';

/** The set of servers has changed. */
export interface ServersChange {
  readonly added: readonly Server[];
  /** They get no more calls; running ones may still end. */
  readonly removed: readonly Server[];
  /** They are run or reached in another way: what was known about them is invalid. */
  readonly replaced: readonly Server[];
  /** Those that stay are in another order. */
  readonly isReordered: boolean;
}

/** What a gateway can change while it runs. */
export type LiveSettings = Pick<Config, 'surface' | 'hostTools' | 'listWaitMs'>;

export interface NewsListener {
  /** Who may do what has changed. */
  policyChanged(): void;
  serversChanged(change: ServersChange): void;
  /** Settings that apply while running have changed. */
  settingsChanged(settings: LiveSettings): void;
  /** Something of this list changed at a server. */
  listChanged(server: string, kind: ListKind, change: ListChange): void;
  /** `notifications/resources/updated`, as it came. */
  updated(server: string, message: Message, audience: UpdateAudience): void;
  /** An unsolicited message of a server about a task, as it came; only for the task's owner. */
  task(news: TaskNews): void;
}

export class HostNews {
  /** Until they are disposed of; a gateway has one. */
  readonly #listeners = new Set<NewsListener>();
  readonly #caught: (error: unknown, server: string) => void;

  /** `caught` receives the error of a listener that throws; the others are still notified. */
  constructor(caught: (error: unknown, server: string) => void) {
    this.#caught = caught;
  }

  subscribe(listener: NewsListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  serversChanged(change: ServersChange): void {
    const [first] = [...change.added, ...change.removed, ...change.replaced];
    this.#tell(first?.name ?? '', (listener) => listener.serversChanged(change));
  }

  policyChanged(): void {
    this.#tell('', (listener) => listener.policyChanged());
  }

  settingsChanged(settings: LiveSettings): void {
    this.#tell('', (listener) => listener.settingsChanged(settings));
  }

  listChanged(server: string, kind: ListKind, change: ListChange): void {
    this.#tell(server, (listener) => listener.listChanged(server, kind, change));
  }

  updated(server: string, message: Message, audience: UpdateAudience): void {
    this.#tell(server, (listener) => listener.updated(server, message, audience));
  }

  task(news: TaskNews): void {
    this.#tell(news.server, (listener) => listener.task(news));
  }

  #tell(server: string, tell: (listener: NewsListener) => void): void {
    for (const listener of this.#listeners) {
      contain(
        () => tell(listener),
        (error) => this.#caught(error, server),
      );
    }
  }
}
