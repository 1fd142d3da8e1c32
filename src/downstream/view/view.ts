// What clients see of all servers together: one list of each kind, and the names in them. A list is
// composed from known lists (known-lists), for this principal and in the form of its era, and
// cached for a time until something in it changes. resource-view.ts has the owners of resources.

import { randomBytes } from 'node:crypto';
import { Cursors } from '../../catalog/cursors.ts';
import { type Definition, readDefinitions } from '../../catalog/definitions.ts';
import { type ListPart, listResult } from '../../catalog/merge.ts';
import type { NameConflict } from '../../catalog/name-conflicts.ts';
import type { Owner } from '../../catalog/naming.ts';
import type { ServedTool } from '../../catalog/search.ts';
import type { Caller } from '../../host/connections/caller.ts';
import { classOf } from '../../host/connections/client-class.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import type { ListChange, ServersChange } from '../../host/host-news.ts';
import { type ListKind, listWords } from '../../host/lists/listings.ts';
import type { Server } from '../../host/servers/server.ts';
import { hasTaskCalls } from '../../host/tasks/task-result.ts';
import type { Clock } from '../../kernel/clock.ts';
import { kindRequest, serverRequest } from '../../policy/access.ts';
import { cutOf, type Principal } from '../../policy/principal.ts';
import type { Greeting } from '../../upstream/connection.ts';
import { oneLine } from '../../wire/splice.ts';
import type { GatewaySettings } from '../gateway.ts';
import type { Incoming } from '../incoming.ts';
import { taskDefinition } from '../tasks/task-definitions.ts';
import { KnownLists } from './known-lists.ts';
import { legacyDefinition } from './legacy-definitions.ts';
import { ownDefinitions } from './own-tools.ts';
import type { Scope } from './scope.ts';
import { Scopes } from './scopes.ts';
import { kindsOf, SeenLists, type SeenPart, type ToldList } from './seen-lists.ts';
import { namedKinds } from './sight.ts';

/** No server can have it. */
const ownName = 'holdfast';
/** Composed lists that are cached; dropped together when there are more. */
const maxComposed = 64;
/** How long they are kept at most: the principal they were composed for may never ask again. */
const composedMs = 1_800_000;
/** Entries of one page. */
const pageItems = 1_000;
/** Our own tools are listed too. */
const ownToolRoom = 10;

export class View implements Disposable {
  readonly #scopes: Scopes;
  readonly #host: HostForGateway;
  readonly #clock: Clock;
  readonly #settings: GatewaySettings;
  readonly #known: KnownLists;
  readonly #cursors: Cursors;
  /** By kind, version of the policy, era, scope, client (if it has lists of its own) and class; at most `maxComposed`, until a list changes or for `composedMs`. */
  readonly #composed = new Map<string, Buffer>();
  readonly #seen = new SeenLists();
  #forgetting: Disposable | undefined;

  /** With a stored key, cursors are good at every process that has it. */
  constructor(
    host: HostForGateway,
    clock: Clock,
    settings: GatewaySettings,
    cursorKey: Buffer = randomBytes(32),
  ) {
    this.#cursors = new Cursors(cursorKey);
    this.#host = host;
    this.#clock = clock;
    this.#settings = settings;
    this.#scopes = new Scopes({ host, settings, known: () => this.#known });
    const { tools, prompts, resources } = this.#scopes.whole;
    const recalls = [tools, prompts, resources].map((names) => names.recall());
    this.#known = new KnownLists(host, clock, settings.listWaitMs, recalls, () => this.#recalled());
  }

  /** The names and addresses as this principal sees them. */
  of(principal: Principal): Scope {
    return this.#scopes.of(principal);
  }

  /** Whose tool or prompt this is, whoever may see it: never for a client. */
  ownerOf(kind: 'tool' | 'prompt', exposed: string): Owner | undefined {
    return this.#scopes.whole[`${kind}s`].names.resolve(exposed, () => true);
  }

  /**
   * What clients do not see of a server under its own name, or not at all. Asking changes nothing.
   */
  nameConflicts(server: string): readonly NameConflict[] {
    const { tools, prompts } = this.#scopes.whole;
    return [...tools.conflictsOf(server), ...prompts.conflictsOf(server)];
  }

  #recalled(): void {
    // A list may have been composed while it was read.
    this.#outdated();
    for (const { tools, prompts, resources } of this.#scopes.all()) {
      for (const { name } of this.#host.servers()) resources.changed(name);
      tools.changed();
      prompts.changed();
    }
  }

  /** A server's list is new or has changed. True if clients have to be notified. */
  changed(server: string, kind: ListKind, change: ListChange): boolean {
    this.#outdated();
    for (const { tools, prompts, resources } of this.#scopes.all()) {
      if (kind === 'tools') tools.changed();
      else if (kind === 'prompts') prompts.changed();
      else resources.changed(server);
    }
    // Clients that were answered without it have not seen it yet; before that there was nobody to
    // notify.
    if (change === 'new') return true;
    const isMissed = this.#known.wasMissed(server, kind);
    return isMissed && (change !== 'first' || !this.#isEmpty(server, kind));
  }

  #isEmpty(server: string, kind: ListKind): boolean {
    return this.#host.get(server)?.offerings.definitions(kind)?.length === 0;
  }

  #outdated(): void {
    this.#composed.clear();
    this.#seen.changed();
  }

  /** Servers were added, removed, replaced or reordered. */
  serversChanged(change: ServersChange): void {
    this.#outdated();
    for (const { resources } of this.#scopes.all()) resources.serversChanged();
    this.#known.serversChanged(change);
    for (const { tools, prompts } of this.#scopes.all()) {
      tools.changed();
      prompts.changed();
    }
  }

  /** The settings have changed. */
  settingsChanged(): void {
    this.#outdated();
    this.#known.listWaitMs = this.#settings.listWaitMs;
    for (const { tools } of this.#scopes.all()) tools.changed();
  }

  // --- lists -------------------------------------------------------------------------------

  /** Undefined when what an earlier run knew has been read. */
  recalled(): Promise<void> | undefined {
    return this.#known.recalled();
  }

  /** The bytes of the result; undefined for a cursor that is none. */
  async list(
    kind: ListKind,
    client: Incoming,
    cursor: string | undefined,
  ): Promise<Buffer | undefined> {
    const { principal, era } = client;
    await this.#known.recalled();
    if (!this.#isSearched(kind, principal)) {
      await this.#known.update(this.#visible(principal, kind), kind, client);
    }
    const { access } = this.#host;
    const whose = [this.#ownerOfLists(client), classOf(client.capabilities).key];
    const scope = access.scopeOf(principal);
    const shared = JSON.stringify([kind, access.version, era, scope, ...whose]);
    // The cursor to its next page is its owner's alone.
    const own = JSON.stringify([shared, principal.id]);
    const kept = this.#composed.get(shared) ?? this.#composed.get(own);
    if (kept && cursor === undefined) return kept;
    const composed = this.#compose(kind, client, cursor);
    const isLasting = era === 'legacy' || !this.#holdsForATime(kind, client);
    if (composed && cursor === undefined && isLasting) {
      if (this.#composed.size >= maxComposed) this.#composed.clear();
      this.#composed.set(this.#isPaged(kind, client) ? own : shared, composed);
      this.#forgetting ??= this.#clock.after(composedMs, () => this.#forgetComposed(), true);
    }
    return composed;
  }

  /** The same text as long as a client sees the same in this list; empty: it sees everything. */
  seen(list: ToldList, client: Caller): string {
    const { principal, capabilities } = client;
    const { access } = this.#host;
    const scope = access.scopeOf(principal);
    if (scope === '') return '';
    const whose = [this.#ownerOfLists(client), classOf(capabilities).key];
    const key = JSON.stringify([list, access.version, scope, ...whose]);
    return this.#seen.digest(key, () =>
      kindsOf(list).map((kind) => [kind, this.#seenParts(kind, client)] as const),
    );
  }

  #seenParts(kind: ListKind, client: Caller): readonly SeenPart[] {
    const { principal } = client;
    const visible = this.#isSearched(kind, principal) ? [] : this.#visible(principal, kind);
    const parts = visible.map((server) => {
      const listed = server.catalogueFor(client).definitions(kind) ?? [];
      const entries = this.#allowed(server, listed, kind, principal).map(
        (one) => [this.#exposedKey(kind, server.name, one.key, principal), one] as const,
      );
      return { server: server.name, entries };
    });
    if (kind !== 'tools') return parts;
    const own = this.#ownPart(principal).definitions.map((one) => [one.key, one] as const);
    return [...parts, { server: ownName, entries: own }];
  }

  /** A server has reported a change: its list is read again for clients like this one; nobody waits for it. */
  readAgain(list: ToldList, name: string, client: Caller): void {
    const server = this.#host.get(name);
    if (!server) return;
    for (const kind of kindsOf(list)) {
      const isSeen = this.#visible(client.principal, kind).includes(server);
      if (isSeen && !this.#isSearched(kind, client.principal)) {
        this.#known.readAgain(server, kind, client);
      }
    }
  }

  /** Whether it may have more than one page. */
  #isPaged(kind: ListKind, client: Incoming): boolean {
    const counts = this.#host
      .servers()
      .map((server) => server.catalogueFor(client).definitions(kind)?.length ?? 0);
    return counts.reduce((sum, count) => sum + count, 0) >= pageItems - ownToolRoom;
  }

  /** The client, if what some server lists is for it alone; or its folder, if it is for that. */
  #ownerOfLists(client: Caller): string {
    const aims = this.#host.servers().map(({ slots }) => slots.aimOf(client));
    if (aims.some(({ owner }) => owner !== undefined)) return client.client.key;
    return aims.find(({ folder }) => folder !== undefined)?.folder ?? '';
  }

  #forgetComposed(): void {
    this.#forgetting = undefined;
    this.#composed.clear();
  }

  [Symbol.dispose](): void {
    this.#forgetting?.[Symbol.dispose]();
    this.#forgetComposed();
  }

  /** How much is remembered of servers, for tests of what is not. */
  get keptOfServers(): number {
    return this.#known.size + this.#scopes.whole.resources.size;
  }

  /** How many composed lists are kept. */
  get composed(): number {
    return this.#composed.size;
  }

  /** Whether tools are found by searching, so that none is listed. The path of one server lists its tools. */
  #isSearched(kind: ListKind, principal: Principal): boolean {
    const isAlone = cutOf(principal)?.kind === 'server';
    return kind === 'tools' && this.#settings.surface === 'search' && !isAlone;
  }

  #compose(kind: ListKind, client: Incoming, cursor: string | undefined): Buffer | undefined {
    const { principal, era } = client;
    const { resources } = this.#scopes.of(principal);
    const visible = this.#isSearched(kind, principal) ? [] : this.#visible(principal, kind);
    const parts = visible.map((server) => this.#part(server, kind, client));
    const own = kind === 'tools' ? [this.#ownPart(principal)] : [];
    const view = {
      list: kind,
      parts: [...parts, ...own],
      isFiltered: this.#host.access.hasPolicy,
      expose: (server: string, key: string) =>
        server === ownName ? key : this.#exposedKey(kind, server, key, principal),
      exposeUri: (server: string, uri: string) =>
        server === ownName ? uri : resources.exposed(server, uri),
      cursors: this.#cursors.of(principal.id),
      maxItems: pageItems,
    };
    const result = listResult(view, era, cursor);
    return result && oneLine(result);
  }

  #part(server: Server, kind: ListKind, client: Incoming): ListPart {
    const { principal, era } = client;
    const catalogue = server.catalogueFor(client);
    const { holdsUntil = 0, scope = 'private' } = catalogue.lists.known(kind) ?? {};
    const allowed = this.#allowed(server, catalogue.definitions(kind) ?? [], kind, principal);
    const greeting = server.greetingFor(client);
    return {
      server: server.name,
      definitions: kind === 'tools' ? allowed.map((one) => toolFor(greeting, era, one)) : allowed,
      ttlMs: Math.max(0, Math.floor(holdsUntil - this.#clock.now())),
      scope,
    };
  }

  /** The gateway's own tools hold for ever. */
  #ownPart(principal: Principal): ListPart {
    const servers = this.#visible(principal).map(({ name }) => name);
    const mayList = (name: string) =>
      this.#host.access.isAllowed(principal, {
        action: 'list',
        server: ownName,
        kind: 'tool',
        name,
        method: 'tools/list',
      });
    const own = ownDefinitions(this.#settings, servers, mayList);
    const text = Buffer.from(`[${own.join(',')}]`);
    const { definitions } = readDefinitions(text, { start: 0, end: text.length }, 'tools');
    return { server: ownName, definitions, ttlMs: Number.POSITIVE_INFINITY, scope: 'public' };
  }

  /** Does it say how long it holds? Then it says something else a moment later. */
  #holdsForATime(kind: ListKind, client: Incoming): boolean {
    const now = this.#clock.now();
    return this.#visible(client.principal, kind).some(
      (server) => (server.catalogueFor(client).lists.known(kind)?.holdsUntil ?? 0) > now,
    );
  }

  #exposedKey(
    kind: ListKind,
    server: string,
    key: string,
    principal: Principal,
  ): string | undefined {
    const { tools, prompts, resources } = this.#scopes.of(principal);
    switch (kind) {
      case 'tools':
        return tools.exposed({ server, name: key });
      case 'prompts':
        return prompts.exposed({ server, name: key });
      case 'resources':
      case 'skills':
        return resources.exposed(server, key);
      case 'resourceTemplates':
        return resources.exposedTemplate(server, key);
    }
  }

  /** Servers of which it may see something, of this kind if one is given. */
  #visible(principal: Principal, kind?: ListKind): readonly Server[] {
    const { access } = this.#host;
    const request = (name: string) =>
      kind === undefined
        ? serverRequest('list', name)
        : kindRequest('list', name, namedKinds[kind]);
    return this.#host.servers().filter(({ name }) => access.isAllowed(principal, request(name)));
  }

  #allowed(
    server: Server,
    definitions: readonly Definition[],
    kind: ListKind,
    principal: Principal,
  ): readonly Definition[] {
    const { access } = this.#host;
    if (access.scopeOf(principal) === '') return definitions;
    const method = listWords[kind].method;
    return definitions.filter(({ key: name }) =>
      access.isAllowed(principal, {
        action: 'list',
        server: server.name,
        kind: namedKinds[kind],
        name,
        method,
      }),
    );
  }

  // --- for those who look for tools --------------------------------------------------------

  /** The one server that this principal can use; undefined if there are more, or none. */
  onlyServer(principal: Principal): string | undefined {
    const [first, second] = this.#visible(principal);
    return second ? undefined : first?.name;
  }

  /** As it is offered to clients like this one; undefined if it is not. */
  async toolDefinition(
    of: { readonly server: string; readonly name: string },
    client: Caller,
  ): Promise<Definition | undefined> {
    const server = this.#host.find(of.server);
    await this.#known.update([server], 'tools', client);
    const offered = server.catalogueFor(client).definitions('tools');
    return offered?.find(({ key }) => key === of.name);
  }

  /** Servers whose tools are not known, and why. */
  unlisted(principal: Principal): readonly { readonly server: string; readonly why: string }[] {
    const unknown = this.#visible(principal, 'tools').filter(
      ({ offerings }) => offerings.definitions('tools') === undefined,
    );
    return unknown.map(({ name, supervisor }) => {
      if (supervisor.isEjected) return { server: name, why: 'ejected' };
      return { server: name, why: supervisor.lastFault?.fault.code ?? 'not listed yet' };
    });
  }

  /** The tools that clients like this one are offered. */
  async searchable(client: Caller, only: string | undefined): Promise<readonly ServedTool[]> {
    const { principal } = client;
    await this.#known.recalled();
    const visible = this.#visible(principal, 'tools');
    await this.#known.update(visible, 'tools', client);
    return this.#visible(principal, 'tools')
      .filter(({ name }) => only === undefined || name === only)
      .flatMap((server) => {
        const catalogue = server.catalogueFor(client);
        const listed = catalogue.definitions('tools') ?? [];
        return this.#allowed(server, listed, 'tools', principal).flatMap(({ key }) => {
          const tool = catalogue.lastKnown(key);
          return tool ? [{ server: server.name, tool }] : [];
        });
      });
  }
}

/** A tool as a client of this era can use it. */
function toolFor(
  greeting: Greeting | undefined,
  era: Incoming['era'],
  original: Definition,
): Definition {
  const shown = taskDefinition(original, era, greeting && hasTaskCalls(greeting));
  return era === 'legacy' ? legacyDefinition(shown) : shown;
}
