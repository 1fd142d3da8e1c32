// Room for calls that wait for the answer of a modern client to `roots/list`. Such a call has no place at a server yet
// and is not under way for its transport any more, but it is kept with all its bytes. So it is bounded here: in number
// and in bytes for each owner over all its paths, and in bytes of all together. One that has waited for long makes room
// for the next one of its owner; where all together have too much, the oldest of the remote owner that has the most does.

import { type Client, limitedAs } from '../../host/connections/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Fault } from '../../kernel/fault.ts';
import { OwnerCounts, shareOf } from '../../kernel/owner-counts.ts';

/** How many calls of one owner may wait. */
const maxWaiting = 64;
/** Bytes of all calls that wait; a remote owner has its share of them. */
const maxBytes = 67_108_864;
/** A program answers by itself: where there is no room, one that has waited for so long is given up. */
const answerMs = 10_000;

interface Waiting {
  readonly since: number;
  readonly bytes: number;
  readonly isRemote: boolean;
  readonly giveUp: (fault: Fault) => void;
}

/** A call that would wait. */
export interface Waiter {
  readonly client: Pick<Client, 'key' | 'sharingOwner'>;
  readonly bytes: number;
  /** The server that it is for. */
  readonly server: string;
  readonly giveUp: (fault: Fault) => void;
}

export class RootsRoom {
  readonly #clock: Clock;
  /** By owner, the oldest first, until they are answered; at most `maxWaiting` for each, and `maxBytes` in all. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  /** Of remote owners. */
  readonly #bytes = new OwnerCounts();
  #all = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Disposing it says that it does not wait any more. Throws `overloaded` if there is no room. */
  enter({ client, bytes, server, giveUp }: Waiter): Disposable {
    const owner = limitedAs(client);
    const isRemote = client.sharingOwner !== undefined;
    while (this.#isBeyond(owner, bytes)) this.#giveUpOld(owner, server);
    while (this.#all > 0 && this.#all + bytes > maxBytes) {
      const largest = this.#bytes.largest() ?? owner;
      if (largest === owner) this.#giveUpOld(owner, server);
      else this.#giveUpOldest(largest);
    }
    const waiting = { since: this.#clock.now(), bytes, isRemote, giveUp };
    const own = this.#waiting.get(owner) ?? new Set();
    this.#waiting.set(owner, own.add(waiting));
    if (isRemote) this.#bytes.add(owner, bytes);
    this.#all += bytes;
    return { [Symbol.dispose]: () => this.#leave(owner, waiting) };
  }

  /** Whether this owner would have more than it may; a single call is not too much. */
  #isBeyond(owner: string, more: number): boolean {
    const count = this.#waiting.get(owner)?.size ?? 0;
    const bytes = this.#bytes.of(owner);
    return count >= maxWaiting || (bytes > 0 && bytes + more > shareOf(maxBytes));
  }

  #giveUpOld(owner: string, server: string): void {
    const [oldest] = this.#waiting.get(owner) ?? [];
    if (oldest === undefined || this.#clock.now() - oldest.since < answerMs) {
      throw tooManyFault(server);
    }
    this.#giveUpOldest(owner);
  }

  #giveUpOldest(owner: string): void {
    const [oldest] = this.#waiting.get(owner) ?? [];
    if (oldest === undefined) return;
    this.#leave(owner, oldest);
    oldest.giveUp(new Fault('cancelled', 'the client has not answered roots/list'));
  }

  #leave(owner: string, waiting: Waiting): void {
    const own = this.#waiting.get(owner);
    if (!own?.delete(waiting)) return;
    if (own.size === 0) this.#waiting.delete(owner);
    if (waiting.isRemote) this.#bytes.remove(owner, waiting.bytes);
    this.#all -= waiting.bytes;
  }
}

function tooManyFault(server: string): Fault {
  const detail =
    `${maxWaiting} calls of this client, or as many bytes of them as are kept, wait for its answer to roots/list; ` +
    'answer them, or try again later';
  return new Fault('overloaded', detail, { server });
}
