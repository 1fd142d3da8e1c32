// The known modern clients, by key: a stdio connection until it ends, and every principal over
// HTTP, where the end of a client is not reported. So a principal without requests for some time
// counts as gone, and what its servers kept only for it ends. The number of clients is bounded too:
// beyond the bound, the one that is idle for longest counts as gone at once.

import type { ClientFolder } from '../../host/connections/client-folder.ts';
import { ownerIdIn } from '../../policy/principal.ts';
import { ModernClient, type ModernClientParts } from './modern-client.ts';

const maxClients = 256;
/** As long as a legacy session without requests; at most twice as long, because of how it is looked at. */
export const clientIdleMs = 1_800_000;

export interface ModernClientsParts extends ModernClientParts {
  /**
   * Whether something is running for this client between its requests, such as a task. Then it
   * stays.
   */
  readonly isAwaited: (key: string) => boolean;
  /** Called for each that is removed. */
  readonly gone: (key: string) => void;
}

export class ModernClients implements Disposable {
  readonly #parts: ModernClientsParts;
  /** By key, until they are gone; at most `maxClients` and those that have requests under way. */
  readonly #clients = new Map<string, ModernClient>();
  #requests = 0;
  /** How many requests there had been when the idle were last looked for. */
  #requestsThen = 0;
  #timer: Disposable | undefined;

  constructor(parts: ModernClientsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#clients.size;
  }

  /** The client of this key, which has a request; `endsIdle` if its end is not reported. */
  of(key: string, endsIdle: boolean, folder?: ClientFolder): ModernClient {
    const client = this.#clients.get(key) ?? this.#add(key, endsIdle, folder);
    client.lastRequest = ++this.#requests;
    return client;
  }

  forget(key: string): void {
    const client = this.#clients.get(key);
    // What is still done for it must not make a connection that nobody would end.
    if (client) client.isGone = true;
    this.#clients.delete(key);
    this.#parts.gone(key);
  }

  /** Over HTTP a client is a principal: forgets those whose access has ended, by id. */
  endAccess(ids: ReadonlySet<string>): void {
    for (const { key, endsIdle } of [...this.#clients.values()]) {
      if (endsIdle && ids.has(ownerIdIn(key))) this.forget(key);
    }
  }

  /** No client ends by itself any more. */
  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #add(key: string, endsIdle: boolean, folder: ClientFolder | undefined): ModernClient {
    if (this.#clients.size >= maxClients) this.#forgetOldest();
    const client = new ModernClient(key, this.#parts, endsIdle, folder);
    this.#clients.set(key, client);
    if (endsIdle) this.#lookLater();
    return client;
  }

  #forgetOldest(): void {
    let oldest: ModernClient | undefined;
    for (const client of this.#clients.values()) {
      if (client.underWay > 0) continue;
      if (oldest === undefined || client.lastRequest < oldest.lastRequest) oldest = client;
    }
    if (oldest) this.forget(oldest.key);
  }

  #lookLater(): void {
    this.#timer ??= this.#parts.clock.after(clientIdleMs, () => this.#forgetIdle(), true);
  }

  /** Requests are numbered, so that an incoming one does not need to read the clock. */
  #forgetIdle(): void {
    this.#timer = undefined;
    const before = this.#requestsThen;
    this.#requestsThen = this.#requests;
    const ending = [...this.#clients.values()].filter(({ endsIdle }) => endsIdle);
    for (const client of ending) {
      const { key, underWay, lastRequest } = client;
      // To be in use now counts like a request.
      if (underWay > 0 || this.#parts.isAwaited(key)) client.lastRequest = ++this.#requests;
      else if (lastRequest <= before) this.forget(key);
    }
    if (ending.some(({ key }) => this.#clients.has(key))) this.#lookLater();
  }
}
