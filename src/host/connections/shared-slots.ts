// The shared connections of a server, and which of them serves which class of clients. A modern one
// serves all clients; a legacy one serves the class that it was opened for, and others only if the
// server is known to treat classes alike and the declared capabilities cover them. One that becomes
// reserved for a client stays in the list, and no other client uses it. A connection whose process runs
// in a folder serves the clients of that folder only.

import type { Era } from '../../wire/eras.ts';
import type { Facts } from '../servers/server-facts.ts';
import { type ClientClass, classOf, covers, distance, unionOf } from './client-class.ts';
import type { Aim, ConnectionSlot } from './connection-slot.ts';

/**
 * At most so many shared connections, whatever classes clients declare; beyond that the nearest is used. For a
 * server that runs in the folders of its clients: so many for each folder that is in use.
 */
const maxShared = 6;
/** Remembered decisions; cleared together when something changes. */
const maxChoices = 64;

export interface SharedSlotsParts {
  /** The facts about the server. */
  readonly facts: () => Facts;
  readonly make: (owner: string | null, aim: Aim) => ConnectionSlot;
}

export class SharedSlots {
  /** The first one is always there. */
  readonly first: ConnectionSlot;
  /** At most maxShared for each folder in use, and those that have become one client's own, until they have ended. */
  readonly all: ConnectionSlot[];
  readonly #parts: SharedSlotsParts;
  /** Where clients of an era and class go; bounded by maxChoices. */
  readonly #choices = new Map<string, ConnectionSlot>();

  constructor(parts: SharedSlotsParts, first: Aim) {
    this.#parts = parts;
    this.first = parts.make(null, first);
    this.all = [this.first];
  }

  /** The facts that decide where clients go have changed. */
  forgetChoices(): void {
    this.#choices.clear();
  }

  /** Marks those that are not needed beside others, and returns them. */
  duplicates(): readonly ConnectionSlot[] {
    this.#choices.clear();
    for (const slot of this.open) slot.isDuplicate = isLive(slot) && this.#isCovered(slot);
    return this.open.filter(({ isDuplicate }) => isDuplicate);
  }

  /** Where clients of this era, with these capabilities and in this folder go. */
  chosen(era: Era, capabilities: string, folder?: string): ConnectionSlot {
    const group = era === 'modern' ? era : classOf(capabilities).key;
    const key = folder === undefined ? group : JSON.stringify([group, folder]);
    const known = this.#choices.get(key);
    if (known) return known;
    const clients = classOf(capabilities);
    const slot = this.#choose(folder === undefined ? { era, clients } : { era, clients, folder });
    if (this.#choices.size >= maxChoices) this.#choices.clear();
    this.#choices.set(key, slot);
    return slot;
  }

  #choose(aim: Aim): ConnectionSlot {
    const sameEra = this.#openIn(aim.folder).filter((slot) => this.#eraOf(slot) === aim.era);
    const inUse = sameEra.filter((slot) => !slot.isFree);
    const [first] = [...inUse.filter(isLive), ...inUse].filter(
      (slot) => !slot.isDuplicate && this.serves(slot, aim.clients),
    );
    if (first) return first;
    const isAlike = aim.era === 'legacy' && this.#parts.facts().classes === 'alike';
    const clients = isAlike
      ? unionOf([aim.clients, ...sameEra.map((slot) => slot.aim.clients)])
      : aim.clients;
    return this.aimed({ ...aim, clients });
  }

  #openIn(folder: string | undefined): readonly ConnectionSlot[] {
    return this.open.filter(({ aim }) => aim.folder === folder);
  }

  /**
   * For one that is being started, the era that it must use according to what was learnt meanwhile.
   */
  #eraOf({ aim, supervisor }: ConnectionSlot): Era {
    if (supervisor.connection) return aim.era;
    const { modern, legacy } = this.#parts.facts();
    if (aim.era === 'modern') return modern === false ? 'legacy' : 'modern';
    return legacy === false ? 'modern' : 'legacy';
  }

  /**
   * Those that clients may share; one whose client has disconnected ends, and no other client uses
   * it.
   */
  get open(): readonly ConnectionSlot[] {
    return this.all.filter(({ owner, isSpent }) => owner === null && !isSpent);
  }

  /**
   * Whether clients of this class may use a connection that was, or will be, opened as this slot is
   * set.
   */
  serves(slot: ConnectionSlot, clients: ClientClass): boolean {
    const { aim } = slot;
    if (this.#eraOf(slot) === 'modern' || aim.clients.key === clients.key) return true;
    return this.#parts.facts().classes === 'alike' && covers(aim.clients, clients);
  }

  /** An unused one is reassigned before another is opened. */
  aimed(aim: Aim): ConnectionSlot {
    const free = this.open.find((slot) => slot.isFree && slot.aim.folder === aim.folder);
    if (free) {
      free.aim = aim;
      free.clientEra = aim.era;
      free.isDuplicate = false;
      this.#choices.clear();
      return free;
    }
    if (this.#openIn(aim.folder).length >= maxShared) return this.#nearest(aim);
    this.#forgetFolders();
    const slot = this.#parts.make(null, aim);
    this.all.push(slot);
    return slot;
  }

  /** One more, as the process before this one had it. */
  restore(aim: Aim, owner: string | null): ConnectionSlot {
    const slot = this.#parts.make(owner, aim);
    this.all.push(slot);
    return slot;
  }

  /** What failed in one folder says nothing of another: the unused slots of others are not used for it. */
  #forgetFolders(): void {
    const isUnused = ({ aim, isFree, owner }: ConnectionSlot) =>
      owner === null && aim.folder !== undefined && isFree;
    for (let at = this.all.findIndex(isUnused); at >= 0; at = this.all.findIndex(isUnused)) {
      this.all.splice(at, 1);
    }
    this.#choices.clear();
  }

  #nearest({ era, clients, folder }: Aim): ConnectionSlot {
    const apart = (slot: ConnectionSlot) =>
      distance(slot.aim.clients, clients) + (slot.aim.era === era ? 0 : 1_000);
    const [nearest = this.first] = this.#openIn(folder).toSorted((a, b) => apart(a) - apart(b));
    return nearest;
  }

  /**
   * Of two that serve the same clients the one that covers more stays, or else the older one. One
   * that was opened in the other era as a substitute is not needed when there is one of the right
   * era.
   */
  #isCovered(slot: ConnectionSlot): boolean {
    return this.open.some((other, place) => {
      if (other === slot || !isLive(other) || other.isDuplicate) return false;
      if (other.aim.folder !== slot.aim.folder) return false;
      if (slot.clientEra === 'modern' && slot.aim.era !== other.aim.era)
        return other.aim.era === 'modern';
      if (other.aim.era !== slot.aim.era || !this.serves(other, slot.aim.clients)) return false;
      const isMutual = this.serves(slot, other.aim.clients);
      return !isMutual || place < this.open.indexOf(slot);
    });
  }
}

/**
 * Whether there is a connection that accepts calls. One that has ended stays for a moment, until
 * its end is noticed.
 */
export function isLive({ supervisor }: ConnectionSlot): boolean {
  return supervisor.connection !== undefined && !supervisor.connection.isLost;
}
