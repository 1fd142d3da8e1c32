// The known modern clients, by key: a stdio connection until it ends, and every principal over
// HTTP, where the end of a client is not reported. So a principal without requests for some time
// counts as gone, and what its servers kept only for it ends. The number of clients is bounded too:
// beyond the bound, the one that is idle for longest counts as gone at once, of the owner that has the most: a
// token that is used on many paths is many clients of one owner.

import { limitedAs } from '../../host/connections/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { OwnerCounts } from '../../kernel/owner-counts.ts';
import { ownerIdIn } from '../../policy/principal.ts';
import { maxUnderWay } from '../contract.ts';
import { ModernClient, type ModernClientFacts, type ModernClientParts } from './modern-client.ts';
import { RootsRoom } from './roots-room.ts';

const maxClients = 256;
/** As long as a legacy session without requests; at most twice as long, because of how it is looked at. */
export const clientIdleMs = 1_800_000;

export interface ModernClientsParts extends Omit<ModernClientParts, 'room'> {
  readonly clock: Clock;
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
  readonly #room: RootsRoom;
  /** By key, until they are gone; at most `maxClients` and those that have requests under way. */
  readonly #clients = new Map<string, ModernClient>();
  /** Requests that are not answered, by who is limited; none is zero. */
  readonly #underWay = new OwnerCounts();
  #requests = 0;
  /** How many requests there had been when the idle were last looked for. */
  #requestsThen = 0;
  #timer: Disposable | undefined;

  constructor(parts: ModernClientsParts) {
    this.#parts = parts;
    this.#room = new RootsRoom(parts.clock);
  }

  get size(): number {
    return this.#clients.size;
  }

  get all(): readonly ModernClient[] {
    return [...this.#clients.values()];
  }

  /** The client of this key, which has a request. */
  of(key: string, facts: ModernClientFacts): ModernClient {
    const client = this.#clients.get(key) ?? this.#add(key, facts);
    client.lastRequest = ++this.#requests;
    return client;
  }

  /** A request of this client begins; false if it, or its owner on all paths, has too many. */
  begin(client: ModernClient): boolean {
    if (this.#underWay.of(limitedAs(client)) >= maxUnderWay) return false;
    this.#underWay.add(limitedAs(client));
    client.underWay += 1;
    return true;
  }

  /** It is answered. */
  end(client: ModernClient): void {
    this.#underWay.remove(limitedAs(client));
    client.underWay -= 1;
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

  #add(key: string, facts: ModernClientFacts): ModernClient {
    if (this.#clients.size >= maxClients) this.#forgetOldest();
    const client = new ModernClient(key, { ...this.#parts, room: this.#room }, facts);
    this.#clients.set(key, client);
    if (facts.endsIdle) this.#lookLater();
    return client;
  }

  #forgetOldest(): void {
    const counts = new OwnerCounts();
    for (const client of this.#clients.values()) counts.add(limitedAs(client));
    const places = (client: ModernClient) => counts.of(limitedAs(client));
    const [oldest] = [...this.#clients.values()]
      .filter(({ underWay }) => underWay === 0)
      .toSorted((a, b) => places(b) - places(a) || a.lastRequest - b.lastRequest);
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
