// What one server offers to each class of its clients, in this run and as stored by an earlier one.
// Readings of its lists arrive here: they are compared, reported to listeners, stored, and show
// whether the server treats classes of clients alike. The server's connections decide on which
// connection they are read.

import { type Definition, isSameList } from '../../catalog/definitions.ts';
import type { Tool } from '../../catalog/tool.ts';
import type { ServerConfig } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { contain, ignored } from '../../kernel/contain.ts';
import type { Connection, Greeting } from '../../upstream/connection.ts';
import type { ClientClass } from '../connections/client-class.ts';
import type { Aim } from '../connections/connection-slot.ts';
import type { ListChange } from '../host-news.ts';
import type { ServerFacts } from '../servers/server-facts.ts';
import { Catalogue } from './catalogue.ts';
import { Catalogues, type ClassCatalogue } from './catalogues.ts';
import { type OwnCatalogue, withOthers } from './kept-by-others.ts';
import type { KeptCatalogues, KeptRecord } from './kept-catalogues.ts';
import { type ListKind, listKinds, listWords } from './listings.ts';

export interface OfferingsParts {
  readonly config: ServerConfig;
  readonly specHash: string;
  readonly clock: Clock;
  readonly kept: KeptCatalogues;
  readonly facts: ServerFacts;
  /** Whether the server has sent requests to its client. */
  readonly asks: () => boolean;
  /** The tools were read: how many, how many were ignored, and which have changed. */
  readonly toolsRead: (tools: number, invalid: number, changed: readonly string[]) => void;
  /** Whether there is a connection that was opened for this. */
  readonly isHeld: (catalogue: Catalogue) => boolean;
  /** The lists of this class are not kept any more: its clients are served as others. */
  readonly gaveUp: (aim: Aim) => void;
  /** An unexpected error while something was stored. */
  readonly caught: (error: unknown) => void;
  /** A list was read. */
  readonly read: (kind: ListKind) => void;
  readonly listChanged: (kind: ListKind, change: ListChange) => void;
}

export class Offerings {
  readonly #parts: OfferingsParts;
  readonly #catalogues: Catalogues;
  #config: ServerConfig;
  #isKeeping = false;
  #recalling: Promise<KeptRecord | undefined> | undefined;

  constructor(parts: OfferingsParts) {
    this.#parts = parts;
    this.#config = parts.config;
    const make = (aim: Aim, own: () => ClassCatalogue) =>
      new Catalogue(aim, this.#config, parts.clock, {
        listed: parts.toolsRead,
        read: (kind, change) => this.#read(own(), kind, change),
      });
    const facts = () => parts.facts.now;
    this.#catalogues = new Catalogues(make, facts, parts, () => parts.clock.now());
  }

  /** What a connection made for these clients fills. */
  of(aim: Aim): ClassCatalogue {
    return this.#catalogues.of(aim);
  }

  /** What is shown to these clients. */
  shownTo(aim: Aim): ClassCatalogue {
    return this.#catalogues.nearest(aim);
  }

  /** Whether these clients are shown the lists of others, because nothing was read for them. */
  isBorrowed(aim: Aim): boolean {
    return this.#catalogues.isBorrowed(aim);
  }

  /** Whether the tools were read for this class of clients, and not for single clients of it only. */
  isSharedKnown({ owner: _, ...aim }: Aim): boolean {
    const { catalogue } = this.#catalogues.nearest(aim);
    return catalogue.definitions('tools') !== undefined && !this.#catalogues.isBorrowed(aim);
  }

  /** All that any class is offered; undefined if the list was never read. */
  definitions(kind: ListKind): readonly Definition[] | undefined {
    return this.#catalogues.definitions(kind);
  }

  /**
   * Whether it may have such a list: it was never greeted, or has declared it to some clients. Tools
   * are often not declared.
   */
  mayHave(kind: ListKind): boolean {
    if (kind === 'tools') return true;
    const greetings = this.#catalogues.all().flatMap(({ greeting }) => greeting ?? []);
    const { isDeclared } = listWords[kind];
    return greetings.length === 0 || greetings.some(({ capabilities }) => isDeclared(capabilities));
  }

  /** The names or addresses in this list that are not for a single client only. */
  sharedKeys(kind: ListKind): ReadonlySet<string> {
    return this.#catalogues.sharedKeys(kind);
  }

  /** The tool as last listed to anybody, by this process or an earlier one. */
  lastKnown(tool: string): Tool | undefined {
    return this.#catalogues.lastKnown(tool);
  }

  /** The server says that these lists have changed. */
  announced(aim: Aim, kinds: readonly ListKind[]): void {
    for (const kind of kinds) {
      for (const { catalogue, announced } of this.#catalogues.readOn(aim)) {
        catalogue.changed(kind);
        announced.add(kind);
      }
      this.#parts.listChanged(kind, 'new');
    }
  }

  /** The operator has changed the settings of its tools. */
  reconfigure(config: ServerConfig): void {
    this.#config = config;
    for (const { catalogue } of this.#catalogues.all()) catalogue.reconfigure(config);
  }

  /**
   * The lists of the server may have changed, for all that use a connection with this aim or for one class of them: they
   * are read again when a client next asks.
   */
  doubt(aim: Aim, clients?: ClientClass): void {
    for (const { catalogue } of this.#catalogues.readOn(aim)) {
      if (clients !== undefined && catalogue.aim.clients.key !== clients.key) continue;
      for (const kind of listKinds) catalogue.changed(kind);
    }
  }

  /**
   * There is a new connection, on which the lists for these clients are read now: those for others are to be read on it
   * as well, and decide nothing until then. Returns those of them that clients were shown in this run: they may listen,
   * and ask for nothing.
   */
  renewed(aim: Aim): readonly Catalogue[] {
    const own = this.of(aim);
    const others = this.#catalogues.readOn(aim).filter((entry) => entry !== own);
    for (const { catalogue } of others) {
      catalogue.forget();
      for (const kind of listKinds) catalogue.changed(kind);
    }
    return others
      .filter(({ shownAt }) => shownAt !== Number.NEGATIVE_INFINITY)
      .map(({ catalogue }) => catalogue);
  }

  /** What comes on this connection from now on is for one client only. */
  left(aim: Aim, connection: Connection): void {
    for (const { catalogue } of this.#catalogues.readOn(aim)) catalogue.lists.leave(connection);
  }

  /** The client is gone, and with it what was listed to it alone. */
  release(owner: string): void {
    this.#catalogues.release(owner);
  }

  /** The lists are no longer used for decisions; they are still shown until they are read again. */
  forget(): void {
    for (const { catalogue } of this.#catalogues.all()) catalogue.forget();
  }

  /** The instructions and capabilities that the server reported on a new connection. */
  greeted(aim: Aim, greeting: Greeting): void {
    const text = JSON.stringify(greeting);
    let isSame = true;
    for (const entry of this.#catalogues.readOn(aim)) {
      isSame &&= JSON.stringify(entry.greeting) === text;
      entry.greeting = greeting;
      entry.isGreeted = true;
    }
    if (!isSame) this.keep();
  }

  #read(entry: ClassCatalogue, kind: ListKind, change: 'first' | 'new' | 'same'): void {
    const { facts, read, listChanged } = this.#parts;
    read(kind);
    entry.isRead = true;
    entry.readKinds.add(kind);
    const isAnnounced = entry.announced.delete(kind);
    const news = change === 'first' ? this.#newsOfFirst(entry, kind) : change;
    const isShared = entry.aim.owner === undefined;
    if (isShared && facts.now.classes === undefined) {
      const classes = this.#catalogues.judge(entry);
      if (classes === 'alike') this.#catalogues.merge(entry);
      if (classes) facts.learn({ classes });
    }
    if (isShared && change !== 'same') this.keep();
    if (news !== 'same') listChanged(kind, isAnnounced ? 'announced' : news);
  }

  /** Until now these clients have been shown what another class is offered. */
  #newsOfFirst(entry: ClassCatalogue, kind: ListKind): 'first' | 'new' | 'same' {
    const shown = this.#catalogues.nearestTo(entry)?.catalogue.definitions(kind);
    if (shown === undefined) return 'first';
    return isSameList(shown, entry.catalogue.definitions(kind) ?? []) ? 'same' : 'new';
  }

  /** All that are read on a connection with this aim. */
  readOn(aim: Aim): readonly ClassCatalogue[] {
    return this.#catalogues.readOn(aim);
  }

  /** The lists that were reported as changed, and were not read since. */
  get unreadChanges(): readonly ListKind[] {
    const kinds = this.#catalogues.all().flatMap(({ announced }) => [...announced]);
    return [...new Set(kinds)];
  }

  /** All of them, to be written down for the next process. */
  get all(): readonly ClassCatalogue[] {
    return this.#catalogues.all();
  }

  // --- what is kept beyond this run --------------------------------------------------------

  /** Reads what an earlier run has kept, once. */
  recall(): Promise<KeptRecord | undefined> {
    this.#recalling ??= this.#recall();
    return this.#recalling;
  }

  async #recall(): Promise<KeptRecord | undefined> {
    const { kept, specHash, facts } = this.#parts;
    const [record] = await Promise.all([kept.get(specHash), facts.recall()]);
    for (const { aim, lists, greeting } of record?.classes ?? []) {
      const entry = this.of(aim);
      entry.greeting ??= greeting;
      for (const [kind, definitions] of lists) {
        const mayBeUntrue = definitions.length === 0 && record?.asks && this.#mayWait(kind);
        if (!mayBeUntrue) entry.catalogue.recall(kind, definitions);
      }
    }
    return record;
  }

  /**
   * Whether a server that asks its clients may list nothing here before it is answered. Without its
   * tools it would not be shown at all; the other lists can only depend on roots.
   */
  #mayWait(kind: ListKind): boolean {
    return kind === 'tools' || this.#parts.facts.now.asksRoots === true;
  }

  /**
   * Several readings at the same time are written once. What was kept before is read first: a short command
   * reads only the tools, for one class of clients, and must not replace the lists of the others. Other
   * processes may have read those since (`kept-by-others.ts`).
   */
  keep(): void {
    if (this.#isKeeping) return;
    this.#isKeeping = true;
    const { kept, specHash, facts, asks } = this.#parts;
    const write = () => {
      this.#isKeeping = false;
      const record = (stored: KeptRecord | undefined) => {
        // What is listed in a folder is not for others, and that folder may be another one later.
        const everywhere = this.#catalogues.shared.filter(({ aim }) => aim.folder === undefined);
        const own = everywhere.map((entry) => keptFrom(entry));
        const isAlike = facts.now.classes === 'alike';
        return { classes: withOthers(own, stored?.classes ?? [], isAlike), asks: asks() };
      };
      // A disk that cannot be written is reported in `status` by the store itself; a closed one
      // does not matter.
      kept.update(specHash, record).catch(() => {});
    };
    this.recall()
      // Whoever has asked for it reports that; what is known now is worth keeping.
      .catch(ignored)
      .then(() => contain(write, this.#parts.caught))
      .catch(this.#parts.caught);
  }
}

function keptFrom(entry: ClassCatalogue): OwnCatalogue {
  const { aim, catalogue, greeting, readKinds, isGreeted } = entry;
  const known = listKinds.map((kind) => [kind, catalogue.lists.known(kind)] as const);
  const read = known.flatMap(([kind, listing]) =>
    listing ? [[kind, listing.definitions] as const] : [],
  );
  return { aim, greeting, lists: new Map(read), readKinds, isGreeted };
}
