// What one server offers to each class of clients. Most servers offer the same to all, and then
// there is one catalogue for all legacy clients; a server that offers more to clients with certain
// capabilities has one for each class. In the modern era each class has its own, all of them read on one
// connection: every request carries the capabilities of its client. Until a class has a catalogue of its own,
// the nearest one is shown. A server that runs in the folders of its
// clients may offer something else in each: what one folder lists is never shown in another.

import { type Definition, isSameList } from '../../catalog/definitions.ts';
import type { Tool } from '../../catalog/tool.ts';
import type { Greeting } from '../../upstream/connection.ts';
import { distance } from '../connections/client-class.ts';
import { type Aim, isSameButClass } from '../connections/connection-slot.ts';
import type { Facts } from '../servers/server-facts.ts';
import type { Catalogue } from './catalogue.ts';
import { type ListKind, listKinds } from './listings.ts';

export interface ClassCatalogue {
  readonly aim: Aim;
  readonly catalogue: Catalogue;
  /** The server's instructions and capabilities for this class. */
  greeting: Greeting | undefined;
  /** Lists that were reported as changed, until they are read; one for each kind. */
  readonly announced: Set<ListKind>;
  /** Whether it was read in this run. A stored one may be of an older version of the server. */
  isRead: boolean;
  /** Those of its lists that were read in this run; one for each kind. */
  readonly readKinds: Set<ListKind>;
  /** Whether it was greeted in this run. */
  isGreeted: boolean;
  /** When it was last shown to a client. */
  shownAt: number;
}

/**
 * Classes that are distinguished; beyond that those without a connection are dropped, the oldest
 * first. A further class of the modern era is served as the nearest one.
 */
export const maxClasses = 8;
/** One of the modern era that was shown so recently is not dropped: its clients may be there. */
const inUseMs = 600_000;

export class Catalogues {
  readonly #make: (aim: Aim, own: () => ClassCatalogue) => Catalogue;
  readonly #facts: () => Facts;
  readonly #isHeld: (catalogue: Catalogue) => boolean;
  readonly #gaveUp: (aim: Aim) => void;
  readonly #now: () => number;
  /** At most maxClasses, and one more for each connection. */
  #entries: ClassCatalogue[] = [];
  /** Of clients that have connections of their own, at most maxClasses each and one for each connection; gone with the client. */
  readonly #own = new Map<string, ClassCatalogue[]>();

  /** `isHeld`: is there a connection that was opened for this catalogue? `gaveUp`: this one is gone. */
  constructor(
    make: (aim: Aim, own: () => ClassCatalogue) => Catalogue,
    facts: () => Facts,
    edges: {
      readonly isHeld: (catalogue: Catalogue) => boolean;
      readonly gaveUp: (aim: Aim) => void;
    },
    now: () => number,
  ) {
    this.#now = now;
    this.#make = make;
    this.#facts = facts;
    this.#isHeld = edges.isHeld;
    this.#gaveUp = edges.gaveUp;
  }

  /** Those that classes of clients share come first. */
  all(): readonly ClassCatalogue[] {
    return [...this.#entries, ...[...this.#own.values()].flat()];
  }

  /** The tool as last listed to anybody. Called for every call over HTTP: it allocates nothing. */
  lastKnown(tool: string): Tool | undefined {
    for (const { catalogue } of this.#entries) {
      const known = catalogue.lastKnown(tool);
      if (known) return known;
    }
    for (const own of this.#own.values()) {
      for (const { catalogue } of own) {
        const known = catalogue.lastKnown(tool);
        if (known) return known;
      }
    }
    return undefined;
  }

  /** Those that classes of clients share. */
  get shared(): readonly ClassCatalogue[] {
    return this.#entries;
  }

  /** The one that a connection with this aim fills. */
  of(aim: Aim): ClassCatalogue {
    return this.#exact(aim) ?? (aim.owner === undefined ? this.#add(aim) : this.#addOwn(aim));
  }

  /** The client is gone. */
  release(owner: string): void {
    this.#own.delete(owner);
  }

  /** The one to show to these clients: their own if anything is known in it, else the nearest. */
  nearest(aim: Aim): ClassCatalogue {
    const exact = this.#exact(aim);
    if (exact && isKnown(exact)) {
      exact.shownAt = this.#now();
      return exact;
    }
    return nearestOf(this.#entries, aim) ?? exact ?? this.#nothing(aim);
  }

  /** What the clients of this one were shown before it was read. */
  nearestTo(entry: ClassCatalogue): ClassCatalogue | undefined {
    const others = this.#entries.filter((other) => other !== entry);
    return nearestOf(others, entry.aim);
  }

  /** Shown while nothing is known; reading it creates nothing. */
  #nothing(aim: Aim): ClassCatalogue {
    const entry: ClassCatalogue = {
      aim,
      catalogue: this.#make(aim, () => entry),
      greeting: undefined,
      announced: new Set(),
      isRead: false,
      readKinds: new Set(),
      isGreeted: false,
      shownAt: Number.NEGATIVE_INFINITY,
    };
    return entry;
  }

  /** Whether these clients are shown the lists of others, because nothing was read for them. */
  isBorrowed(aim: Aim): boolean {
    const exact = this.#exact(aim);
    return !(exact && isKnown(exact)) && this.#entries.some(isKnown);
  }

  /** All that are read on a connection with this aim. */
  readOn(aim: Aim): readonly ClassCatalogue[] {
    if (aim.era === 'legacy') return [this.of(aim)];
    return this.#of(aim.owner).filter((entry) => isSameButClass(entry.aim, aim));
  }

  #of(owner: string | undefined): readonly ClassCatalogue[] {
    return owner === undefined ? this.#entries : (this.#own.get(owner) ?? []);
  }

  #exact(aim: Aim): ClassCatalogue | undefined {
    const isAlike = aim.era === 'legacy' && this.#facts().classes === 'alike';
    return this.#of(aim.owner).find(
      (entry) =>
        entry.aim.era === aim.era &&
        entry.aim.folder === aim.folder &&
        (isAlike || entry.aim.clients.key === aim.clients.key),
    );
  }

  #add(aim: Aim): ClassCatalogue {
    if (this.#entries.length >= maxClasses && !this.#giveOneUp()) {
      const instead = this.#instead(aim);
      if (instead) return instead;
    }
    const entry = this.#nothing(aim);
    // One connection has greeted all of them.
    entry.greeting = this.#instead(aim)?.greeting;
    this.#entries = [...this.#entries, entry];
    return entry;
  }

  /** The nearest one that is read on the same connection. */
  #instead(aim: Aim): ClassCatalogue | undefined {
    if (aim.era === 'legacy') return undefined;
    const others = this.readOn(aim);
    const apart = ({ aim: { clients } }: ClassCatalogue) => distance(clients, aim.clients);
    return others.toSorted((a, b) => apart(a) - apart(b))[0];
  }

  /** It begins as that of its class. */
  #addOwn(aim: Aim & { readonly owner?: string }): ClassCatalogue {
    const { owner = '', ...shared } = aim;
    const instead = this.#of(owner).length >= maxClasses ? this.#instead(aim) : undefined;
    if (instead) return instead;
    const entry = this.#nothing(aim);
    const of = this.#exact(shared);
    if (of) {
      entry.greeting = of.greeting;
      entry.catalogue.beginAs(of.catalogue);
    }
    this.#own.set(owner, [...(this.#own.get(owner) ?? []), entry]);
    return entry;
  }

  /** False if all are in use. */
  #giveOneUp(): boolean {
    const unused = this.#entries.filter(
      (entry) => !this.#isHeld(entry.catalogue) && !this.#isInUse(entry),
    );
    const gone = unused.find(({ isRead }) => !isRead) ?? unused[0];
    this.#entries = this.#entries.filter((entry) => entry !== gone);
    if (gone) this.#gaveUp(gone.aim);
    return gone !== undefined;
  }

  /** Whether its clients may be there, though no connection was opened for them. */
  #isInUse({ aim, isRead, shownAt }: ClassCatalogue): boolean {
    return aim.era === 'modern' && isRead && this.#now() - shownAt < inUseMs;
  }

  /** All that any class is offered, each name once. */
  definitions(kind: ListKind): readonly Definition[] | undefined {
    const known = this.all().flatMap(({ catalogue }) => {
      const definitions = catalogue.definitions(kind);
      return definitions ? [definitions] : [];
    });
    const lists = [...new Set(known)];
    if (lists.length < 2) return lists[0];
    const byKey = new Map<string, Definition>();
    for (const definition of lists.flat()) {
      if (!byKey.has(definition.key)) byKey.set(definition.key, definition);
    }
    return [...byKey.values()];
  }

  /** The names or addresses that classes of clients are offered, without those of single clients. */
  sharedKeys(kind: ListKind): ReadonlySet<string> {
    const shared = this.#entries.flatMap(({ catalogue }) => catalogue.definitions(kind) ?? []);
    return new Set(shared.map(({ key }) => key));
  }

  // --- do classes differ? ------------------------------------------------------------------

  /** What this reading says about how the server treats classes; undefined if nothing yet. */
  judge(entry: ClassCatalogue): 'alike' | 'differ' | undefined {
    if (entry.aim.era !== 'legacy') return undefined;
    const others = this.#entries.filter(
      (other) =>
        other !== entry &&
        other.aim.era === 'legacy' &&
        other.aim.folder === entry.aim.folder &&
        isKnown(other),
    );
    const verdicts = others.map((other) => compare(entry, other));
    if (verdicts.includes('differ')) return 'differ';
    return verdicts.includes('alike') ? 'alike' : undefined;
  }

  /** They are alike: the one that was read last is used for all. */
  merge(latest: ClassCatalogue): void {
    this.#entries = this.#entries.filter(
      ({ aim }) =>
        aim === latest.aim || aim.era !== latest.aim.era || aim.folder !== latest.aim.folder,
    );
  }
}

function nearestOf(entries: readonly ClassCatalogue[], aim: Aim): ClassCatalogue | undefined {
  const apart = ({ aim: other }: ClassCatalogue) =>
    distance(other.clients, aim.clients) + (other.era === aim.era ? 0 : 1_000);
  const near = entries.filter((entry) => isKnown(entry) && entry.aim.folder === aim.folder);
  const [nearest] = near.toSorted((a, b) => apart(a) - apart(b));
  return nearest;
}

function isKnown({ catalogue }: ClassCatalogue): boolean {
  return catalogue.definitions('tools') !== undefined;
}

/** A difference counts only if both were read in this run; that they are the same counts always. */
function compare(one: ClassCatalogue, other: ClassCatalogue): 'alike' | 'differ' | undefined {
  const lists = listKinds.map((kind) =>
    compareLists(one.catalogue.definitions(kind), other.catalogue.definitions(kind)),
  );
  const isDifferent =
    lists.includes('differ') || one.greeting?.instructions !== other.greeting?.instructions;
  if (isDifferent) return one.isRead && other.isRead ? 'differ' : undefined;
  return lists.includes(undefined) ? undefined : 'alike';
}

function compareLists(
  one: readonly Definition[] | undefined,
  other: readonly Definition[] | undefined,
): 'alike' | 'differ' | undefined {
  if (!one || !other) return undefined;
  return isSameList(one, other) ? 'alike' : 'differ';
}
