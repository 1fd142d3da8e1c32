// The connections of a server that are reserved for single clients. A client that can be asked at
// any time has one. A client that can be asked only inside a call gets a free connection for every
// concurrent call, up to a bound; programs of such a client may have different roots, and a connection
// serves calls with the same roots only. A shared connection that only one client has used can become
// reserved for it, and counts among that client's then.

import type { CallRoots, Client } from './caller.ts';
import type { Aim, ConnectionSlot } from './connection-slot.ts';
import type { SharedSlots } from './shared-slots.ts';

/** At most so many connections for the concurrent calls of one client; beyond that they share one, or wait where roots matter. */
const maxPerClient = 8;

export interface OwnSlotsParts {
  readonly shared: SharedSlots;
  readonly make: (owner: string, aim: Aim) => ConnectionSlot;
  /** Reserves a shared connection for this client that was made for such clients and that nobody has used. */
  readonly adopt: (client: Client, aim: Aim) => ConnectionSlot | undefined;
}

/** What a call needs. */
export interface CallNeeds {
  /** Its roots, if its client was asked for them. */
  readonly roots: CallRoots | undefined;
  /** Whether it must not share a connection with calls that may have other roots. */
  readonly isAlone: boolean;
}

export class OwnSlots {
  readonly #parts: OwnSlotsParts;
  /** By client, at most maxPerClient each with those it has adopted; ended when the client is gone. */
  readonly #byClient = new Map<string, ConnectionSlot[]>();
  /** Those that serve nobody any more, until they have ended. */
  readonly #leaving = new Set<ConnectionSlot>();

  constructor(parts: OwnSlotsParts) {
    this.#parts = parts;
  }

  /** Whether no client has a connection that was made for it alone. */
  get isEmpty(): boolean {
    return this.#byClient.size === 0;
  }

  *all(): Iterable<ConnectionSlot> {
    for (const slots of this.#byClient.values()) yield* slots;
  }

  /** Those that serve nobody any more and have not ended yet. */
  get leaving(): Iterable<ConnectionSlot> {
    return this.#leaving;
  }

  /** All that are reserved for this client, with the shared ones that have become its own. */
  of(key: string): readonly ConnectionSlot[] {
    const adopted = this.#parts.shared.all.filter(({ owner }) => owner === key);
    const own = this.#byClient.get(key) ?? [];
    return adopted.length === 0 ? own : [...adopted, ...own];
  }

  /** Where the next call of this client goes; undefined if it has to wait until there is a place. */
  for(client: Client, aim: Aim, needs: CallNeeds): ConnectionSlot | undefined {
    const { roots } = needs;
    const { key, isAskedInCalls } = client;
    const all = this.of(key);
    if (!isAskedInCalls) return all[0] ?? this.#add(client, aim);
    // The calls of one principal may come from programs with different capabilities and roots.
    const slots = all.filter((slot) => this.#serves(slot, aim) && slot.suits(roots));
    const slot = this.#free(slots, all, aim, client, roots) ?? this.#shared(slots, all, aim, needs);
    if (slot && roots && roots.key !== '' && aim.era === 'legacy') slot.roots = roots;
    return slot;
  }

  #free(
    slots: readonly ConnectionSlot[],
    all: readonly ConnectionSlot[],
    aim: Aim,
    client: Client,
    roots: CallRoots | undefined,
  ): ConnectionSlot | undefined {
    const [first] = slots;
    if (aim.era === 'modern' && first) return first;
    const free = slots.find((slot) => slot.inFlight === 0);
    if (free) return free;
    const unused = all.find((slot) => slot.isFree);
    if (unused) return reassigned(unused, aim);
    if (all.length >= maxPerClient) return undefined;
    const adopted = roots && roots.key !== '' ? this.#parts.adopt(client, aim) : undefined;
    return adopted ?? this.#add(client, aim);
  }

  /** All are in use. Where roots matter, only calls that are known to have the same may share one. */
  #shared(
    slots: readonly ConnectionSlot[],
    all: readonly ConnectionSlot[],
    aim: Aim,
    { roots: own, isAlone }: CallNeeds,
  ): ConnectionSlot | undefined {
    if (!isAlone) return slots[0] ?? all[0];
    const same = own && slots.find(({ roots }) => roots !== undefined);
    return same ?? replaced(all, aim);
  }

  /** One that knows something of its client, such as roots, serves only programs that can be asked for the same. */
  #serves(slot: ConnectionSlot, { era, clients }: Aim): boolean {
    if (slot.aim.era !== era) return false;
    return era === 'modern' || slot.aim.owner === undefined
      ? this.#parts.shared.serves(slot, clients)
      : slot.aim.clients.key === clients.key;
  }

  /** Any one of this client. */
  firstOf(client: Client, aim: Aim): ConnectionSlot {
    return this.of(client.key)[0] ?? this.#add(client, aim);
  }

  #add({ key, sharingOwner }: Client, aim: Aim): ConnectionSlot {
    return this.restore(key, sharingOwner, aim);
  }

  /** One more for the client with this key, which may not have come yet. */
  restore(key: string, sharingOwner: string | undefined, aim: Aim): ConnectionSlot {
    const slot = this.#parts.make(key, aim);
    slot.sharingOwner = sharingOwner;
    this.#byClient.set(key, [...(this.#byClient.get(key) ?? []), slot]);
    return slot;
  }

  /** They are in no list any more: the caller ends them. */
  take(key: string): readonly ConnectionSlot[] {
    const slots = this.#byClient.get(key) ?? [];
    this.#byClient.delete(key);
    return slots;
  }

  takeAll(): readonly ConnectionSlot[] {
    const slots = [...this.all()];
    this.#byClient.clear();
    return slots;
  }

  /** Ends those that were taken; the server has ended only when they have. */
  async leave(
    slots: readonly ConnectionSlot[],
    end: (slot: ConnectionSlot) => Promise<void>,
  ): Promise<void> {
    const leave = async (slot: ConnectionSlot) => {
      this.#leaving.add(slot);
      try {
        await end(slot);
      } finally {
        this.#leaving.delete(slot);
      }
    };
    await Promise.all(slots.map(leave));
  }
}

function idleSince({ supervisor }: ConnectionSlot): number {
  return supervisor.leases.idleSince ?? 0;
}

/** It is opened next for these clients, and knows nothing of others. */
function reassigned(slot: ConnectionSlot, aim: Aim): ConnectionSlot {
  slot.aim = aim;
  slot.roots = undefined;
  return slot;
}

/** All are for other calls: one that is idle is closed, and is started again for this call. */
function replaced(all: readonly ConnectionSlot[], aim: Aim): ConnectionSlot | undefined {
  const idle = all.filter(
    ({ inFlight, supervisor }) => inFlight === 0 && !supervisor.leases.isWanted,
  );
  const [oldest] = idle.toSorted((a, b) => idleSince(a) - idleSince(b));
  if (oldest === undefined) return undefined;
  oldest.supervisor.evict();
  return reassigned(oldest, aim);
}
