// What one server offers, to each class of its clients, in this run and as an earlier one kept it.
// Readings of its lists arrive here: they are compared, told to those who listen, written down, and
// show whether the server treats classes of clients alike. Which connection they were read on is the
// business of the server's connections.

import { type Definition, isSameList } from '../../catalog/definitions.ts';
import type { Tool } from '../../catalog/tool.ts';
import type { ServerConfig } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import type { Greeting } from '../../upstream/connection.ts';
import type { Aim } from '../connections/connection-slot.ts';
import type { ListChange } from '../host-news.ts';
import type { ServerFacts } from '../servers/server-facts.ts';
import { Catalogue } from './catalogue.ts';
import { Catalogues, type ClassCatalogue } from './catalogues.ts';
import type { KeptCatalogues, KeptRecord } from './kept-catalogues.ts';
import { type ListKind, listKinds } from './listings.ts';

export interface OfferingsParts {
  readonly config: ServerConfig;
  readonly specHash: string;
  readonly clock: Clock;
  readonly kept: KeptCatalogues;
  readonly facts: ServerFacts;
  /** Is anything kept beyond this run? */
  readonly isKept: boolean;
  /** Has the server asked its client back? */
  readonly asks: () => boolean;
  /** The tools were read: how many, how many were left out, and which are not what they were. */
  readonly toolsRead: (tools: number, invalid: number, changed: readonly string[]) => void;
  /** Is there a connection that this is read on? */
  readonly isHeld: (catalogue: Catalogue) => boolean;
  /** An error that nobody expected while something was written down. */
  readonly caught: (error: unknown) => void;
  /** A list was read. */
  readonly read: (kind: ListKind) => void;
  readonly listChanged: (kind: ListKind, change: ListChange) => void;
}

export class Offerings {
  readonly #parts: OfferingsParts;
  readonly #catalogues: Catalogues;
  /** Lists that were said to have changed, until they are read; one for each kind. */
  readonly #announced = new Set<ListKind>();
  #isKeeping = false;

  constructor(parts: OfferingsParts) {
    this.#parts = parts;
    const make = (own: () => ClassCatalogue) =>
      new Catalogue(parts.config, parts.clock, {
        listed: parts.toolsRead,
        read: (kind, change) => this.#read(own(), kind, change),
      });
    this.#catalogues = new Catalogues(make, () => parts.facts.now, parts.isHeld);
  }

  /** What a connection made for these clients fills. */
  of(aim: Aim): ClassCatalogue {
    return this.#catalogues.of(aim);
  }

  /** What is shown to these clients. */
  shownTo(aim: Aim): ClassCatalogue {
    return this.#catalogues.nearest(aim);
  }

  /** Are these clients shown what others are offered, because nothing was read for them? */
  isBorrowed(aim: Aim): boolean {
    return this.#catalogues.isBorrowed(aim);
  }

  /** All that any class is offered; undefined if the list was never read. */
  definitions(kind: ListKind): readonly Definition[] | undefined {
    return this.#catalogues.definitions(kind);
  }

  /** The tool as last listed to anybody, by this process or an earlier one. */
  lastKnown(tool: string): Tool | undefined {
    for (const { catalogue } of this.#catalogues.all()) {
      const known = catalogue.lastKnown(tool);
      if (known) return known;
    }
    return undefined;
  }

  /** The server says that these lists have changed. */
  announced(aim: Aim, kinds: readonly ListKind[]): void {
    for (const kind of kinds) {
      this.of(aim).catalogue.changed(kind);
      this.#announced.add(kind);
      this.#parts.listChanged(kind, 'new');
    }
  }

  /** Nothing is decided any more by what was read; it is still shown until it is read anew. */
  forget(): void {
    for (const { catalogue } of this.#catalogues.all()) catalogue.forget();
  }

  /** What the server said of itself on a new connection. */
  greeted(aim: Aim, greeting: Greeting): void {
    const entry = this.of(aim);
    const isSame = JSON.stringify(entry.greeting) === JSON.stringify(greeting);
    entry.greeting = greeting;
    if (!isSame) this.keep();
  }

  #read(entry: ClassCatalogue, kind: ListKind, change: 'first' | 'new' | 'same'): void {
    const { facts, read, listChanged } = this.#parts;
    read(kind);
    entry.isRead = true;
    const isAnnounced = this.#announced.delete(kind);
    const news = change === 'first' ? this.#newsOfFirst(entry, kind) : change;
    if (facts.now.classes === undefined) {
      const classes = this.#catalogues.judge(entry);
      if (classes === 'alike') this.#catalogues.merge(entry);
      if (classes) facts.learn({ classes });
    }
    if (change !== 'same') this.keep();
    if (news !== 'same') listChanged(kind, isAnnounced ? 'announced' : news);
  }

  /** Until now these clients have been shown what another class is offered. */
  #newsOfFirst(entry: ClassCatalogue, kind: ListKind): 'first' | 'new' | 'same' {
    const shown = this.#catalogues.nearestTo(entry)?.catalogue.definitions(kind);
    if (shown === undefined) return 'first';
    return isSameList(shown, entry.catalogue.definitions(kind) ?? []) ? 'same' : 'new';
  }

  // --- what is kept beyond this run --------------------------------------------------------

  async recall(): Promise<KeptRecord | undefined> {
    const record = await this.#parts.kept.get(this.#parts.specHash);
    for (const { aim, lists, greeting } of record?.classes ?? []) {
      const entry = this.of(aim);
      entry.greeting ??= greeting;
      for (const [kind, definitions] of lists) entry.catalogue.recall(kind, definitions);
    }
    return record;
  }

  /** Several readings come together; they are written once. */
  keep(): void {
    if (this.#isKeeping || !this.#parts.isKept) return;
    this.#isKeeping = true;
    const write = () => {
      this.#isKeeping = false;
      const classes = this.#catalogues.all().map((entry) => keptFrom(entry));
      const record = {
        classes: classes.filter(({ lists }) => lists.size > 0),
        asks: this.#parts.asks(),
      };
      // A disk that cannot be written is told in `status` by the store itself; a closed one is no loss.
      this.#parts.kept.put(this.#parts.specHash, record).catch(() => {});
    };
    queueMicrotask(() => contain(write, this.#parts.caught));
  }
}

function keptFrom({ aim, catalogue, greeting }: ClassCatalogue) {
  const known = listKinds.map((kind) => [kind, catalogue.lists.known(kind)] as const);
  const read = known.flatMap(([kind, listing]) =>
    listing ? [[kind, listing.definitions] as const] : [],
  );
  return { aim, greeting, lists: new Map(read) };
}
