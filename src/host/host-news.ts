// What the clients of a gateway have to be told: that a list they can see is no longer what it was,
// that a resource they watch has changed, and what becomes of their tasks. One place to listen, whatever
// server it came from.

import { contain } from '../kernel/contain.ts';
import type { Message } from '../wire/scan.ts';
import type { ListKind } from './lists/listings.ts';
import type { TaskNews } from './tasks/begun-tasks.ts';

/** `first`: it was never known before. `announced`: it was said to have changed, and has now been read. */
export type ListChange = 'first' | 'new' | 'announced';

export interface NewsListener {
  /** Something of this list changed at a server. */
  listChanged(server: string, kind: ListKind, change: ListChange): void;
  /** `notifications/resources/updated`, as it came; for this client alone, if one is named. */
  updated(server: string, message: Message, owner: string | null): void;
  /** What a server says of a task on its own account, as it came; for the task's owner alone. */
  task(news: TaskNews): void;
}

export class HostNews {
  /** Until they are disposed of; a gateway has one. */
  readonly #listeners = new Set<NewsListener>();
  readonly #caught: (error: unknown, server: string) => void;

  /** `caught` is told of a listener that throws; the others hear the news all the same. */
  constructor(caught: (error: unknown, server: string) => void) {
    this.#caught = caught;
  }

  subscribe(listener: NewsListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  listChanged(server: string, kind: ListKind, change: ListChange): void {
    this.#tell(server, (listener) => listener.listChanged(server, kind, change));
  }

  updated(server: string, message: Message, owner: string | null): void {
    this.#tell(server, (listener) => listener.updated(server, message, owner));
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
