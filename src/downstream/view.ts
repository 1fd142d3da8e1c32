// What clients see of all servers together: one list of each kind, and the names in them. A list is
// composed from what is known (known-lists), for this principal and in the words of its era, and kept
// until something in it changes. Whose a resource is stands beside it (resource-view).

import { randomBytes } from 'node:crypto';
import { Cursors } from '../catalog/cursors.ts';
import { type Definition, readDefinitions } from '../catalog/definitions.ts';
import { type ListPart, listResult } from '../catalog/merge.ts';
import type { ServedTool } from '../catalog/search.ts';
import type { Host } from '../host/host.ts';
import type { ListChange } from '../host/host-news.ts';
import type { ListKind } from '../host/listings.ts';
import type { Server } from '../host/server.ts';
import type { Clock } from '../kernel/clock.ts';
import { isAllowed } from '../policy/guard.ts';
import type { Principal } from '../policy/principal.ts';
import { oneLine } from '../wire/splice.ts';
import type { GatewaySettings } from './gateway.ts';
import type { Incoming } from './incoming.ts';
import { KnownLists } from './known-lists.ts';
import { legacyDefinition } from './legacy-definitions.ts';
import { NameTable } from './name-table.ts';
import { ownDefinitions, ownToolNames } from './own-tools.ts';
import { ResourceView } from './resource-view.ts';

/** No server can have it. */
const ownName = 'holdfast';
/** Entries of one page. */
const pageItems = 1_000;

export class View {
  readonly tools: NameTable;
  readonly prompts: NameTable;
  readonly resources: ResourceView;
  readonly #host: Host;
  readonly #clock: Clock;
  readonly #settings: GatewaySettings;
  readonly #known: KnownLists;
  readonly #cursors = new Cursors(randomBytes(32));
  readonly #composed = new Map<string, Buffer>();

  constructor(host: Host, clock: Clock, settings: GatewaySettings) {
    this.#host = host;
    this.#clock = clock;
    this.#settings = settings;
    this.tools = this.#names('tool', ownToolNames(settings));
    this.prompts = this.#names('prompt', new Set());
    this.resources = new ResourceView(host, () => this.#known);
    this.#known = new KnownLists(host, clock, settings.listWaitMs, () => this.#recalled());
  }

  #names(kind: 'tool' | 'prompt', reserved: ReadonlySet<string>): NameTable {
    const learn = (isCandidate: (server: Server) => boolean) =>
      this.#known.learn(kind === 'tool' ? 'tools' : 'prompts', isCandidate);
    return new NameTable({ host: this.#host, kind, mode: this.#settings.naming, reserved, learn });
  }

  #recalled(): void {
    for (const { name } of this.#host.servers()) this.resources.changed(name);
    this.tools.changed();
    this.prompts.changed();
  }

  /** A server's list is new or not what it was. True if clients have to be told. */
  changed(server: string, kind: ListKind, change: ListChange): boolean {
    this.#composed.clear();
    if (kind === 'tools') this.tools.changed();
    else if (kind === 'prompts') this.prompts.changed();
    else this.resources.changed(server);
    // Those who were answered without it have not seen it yet; before that there was nobody to tell.
    return change === 'new' || this.#known.wasMissed(server, kind);
  }

  // --- lists -------------------------------------------------------------------------------

  /** The bytes of the result; undefined for a cursor that is none. */
  async list(
    kind: ListKind,
    { principal, era }: Incoming,
    cursor: string | undefined,
  ): Promise<Buffer | undefined> {
    await this.#known.recalled();
    if (!this.#isSearched(kind)) await this.#known.update(this.#visible(principal), kind);
    const key = `${kind} ${era} ${principal.id}`;
    const kept = cursor === undefined ? this.#composed.get(key) : undefined;
    if (kept) return kept;
    const composed = this.#compose(kind, principal, era, cursor);
    const isLasting = era === 'legacy' || !this.#holdsForATime(kind, principal);
    if (composed && cursor === undefined && isLasting) this.#composed.set(key, composed);
    return composed;
  }

  /** Are tools found by searching, so that none is listed? */
  #isSearched(kind: ListKind): boolean {
    return kind === 'tools' && this.#settings.surface === 'search';
  }

  #compose(
    kind: ListKind,
    principal: Principal,
    era: Incoming['era'],
    cursor: string | undefined,
  ): Buffer | undefined {
    const visible = this.#isSearched(kind) ? [] : this.#visible(principal);
    const parts = visible.map((server) => this.#part(server, kind, principal, era));
    const own = kind === 'tools' ? [this.#ownPart(principal)] : [];
    const view = {
      list: kind,
      parts: [...parts, ...own],
      isFiltered: this.#host.guard !== null,
      expose: (server: string, key: string) =>
        server === ownName ? key : this.#exposedKey(kind, server, key),
      exposeUri: (server: string, uri: string) =>
        server === ownName ? uri : this.resources.exposed(server, uri),
      cursors: this.#cursors,
      maxItems: pageItems,
    };
    const result = listResult(view, era, cursor);
    return result && oneLine(result);
  }

  #part(server: Server, kind: ListKind, principal: Principal, era: Incoming['era']): ListPart {
    const { holdsUntil = 0, scope = 'private' } = server.catalogue.lists.known(kind) ?? {};
    const allowed = this.#allowed(server, kind, principal);
    const isLegacyTool = kind === 'tools' && era === 'legacy';
    return {
      server: server.name,
      definitions: isLegacyTool ? allowed.map(legacyDefinition) : allowed,
      ttlMs: Math.max(0, Math.floor(holdsUntil - this.#clock.now())),
      scope,
    };
  }

  /** The gateway's own tools hold for ever, and are the same for everybody. */
  #ownPart(principal: Principal): ListPart {
    const servers = this.#visible(principal).map(({ name }) => name);
    const text = Buffer.from(`[${ownDefinitions(this.#settings, servers).join(',')}]`);
    const { definitions } = readDefinitions(text, { start: 0, end: text.length }, 'tools');
    return { server: ownName, definitions, ttlMs: Number.POSITIVE_INFINITY, scope: 'public' };
  }

  /** Does it say how long it holds? Then it says something else a moment later. */
  #holdsForATime(kind: ListKind, principal: Principal): boolean {
    const now = this.#clock.now();
    return this.#visible(principal).some(
      ({ catalogue }) => (catalogue.lists.known(kind)?.holdsUntil ?? 0) > now,
    );
  }

  #exposedKey(kind: ListKind, server: string, key: string): string | undefined {
    switch (kind) {
      case 'tools':
        return this.tools.exposed({ server, name: key });
      case 'prompts':
        return this.prompts.exposed({ server, name: key });
      case 'resources':
        return this.resources.exposed(server, key);
      case 'resourceTemplates':
        return this.resources.exposedTemplate(server, key);
    }
  }

  #visible(principal: Principal): readonly Server[] {
    const { guard } = this.#host;
    return this.#host.servers().filter(({ name }) => isAllowed(guard, principal, name, null));
  }

  #allowed(server: Server, kind: ListKind, principal: Principal): readonly Definition[] {
    const definitions = server.catalogue.definitions(kind) ?? [];
    const { guard } = this.#host;
    if (guard === null) return definitions;
    const what = kind === 'tools' ? 'tool' : kind === 'prompts' ? 'prompt' : 'resource';
    return definitions.filter(({ key }) => isAllowed(guard, principal, server.name, key, what));
  }

  // --- for those who look for tools --------------------------------------------------------

  /** The one server that this principal can use; undefined if there are more, or none. */
  onlyServer(principal: Principal): string | undefined {
    const [first, second] = this.#visible(principal);
    return second ? undefined : first?.name;
  }

  toolDefinition(of: { readonly server: string; readonly name: string }): Definition | undefined {
    const { catalogue } = this.#host.find(of.server);
    return catalogue.definitions('tools')?.find(({ key }) => key === of.name);
  }

  /** Servers whose tools are not known, and why. */
  unlisted(principal: Principal): readonly { readonly server: string; readonly why: string }[] {
    const unknown = this.#visible(principal).filter(
      ({ catalogue }) => catalogue.definitions('tools') === undefined,
    );
    return unknown.map(({ name, supervisor }) => {
      return { server: name, why: supervisor.lastFault?.fault.code ?? 'not listed yet' };
    });
  }

  async searchable(principal: Principal, only: string | undefined): Promise<readonly ServedTool[]> {
    await this.#known.recalled();
    await this.#known.update(this.#visible(principal), 'tools');
    return this.#visible(principal)
      .filter(({ name }) => only === undefined || name === only)
      .flatMap((server) =>
        this.#allowed(server, 'tools', principal).flatMap(({ key }) => {
          const tool = server.catalogue.lastKnown(key);
          return tool ? [{ server: server.name, tool }] : [];
        }),
      );
  }
}
