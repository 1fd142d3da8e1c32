// What clients see of all servers together: one list of each kind, the names in them, and whose each
// resource is. A list is answered from what is known; only servers of which nothing is known are
// waited for, once and not for long, and a server that is slow, dead or broken costs nobody else
// their place: it is shown as it was last known, or left out, and its arrival is news.

import { randomBytes } from 'node:crypto';
import { Cursors } from '../catalog/cursors.ts';
import { type Definition, readDefinitions } from '../catalog/definitions.ts';
import { type ListPart, listResult } from '../catalog/merge.ts';
import type { ServedTool } from '../catalog/search.ts';
import { type UriOwner, UriOwners } from '../catalog/uri-owners.ts';
import { collectUris, rewriteUris } from '../catalog/uri-rewriting.ts';
import { type Answer, answerOf, resultBytes } from '../host/answer.ts';
import { eachOf, freshen } from '../host/discovery.ts';
import type { Host } from '../host/host.ts';
import type { ListChange } from '../host/host-news.ts';
import type { ListKind } from '../host/listings.ts';
import type { Server } from '../host/server.ts';
import { type Clock, within } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { isAllowed } from '../policy/guard.ts';
import type { Principal } from '../policy/principal.ts';
import { oneLine } from '../wire/splice.ts';
import type { GatewaySettings } from './gateway.ts';
import type { Incoming } from './incoming.ts';
import { legacyDefinition } from './legacy-definitions.ts';
import { NameTable } from './name-table.ts';
import { ownDefinitions, ownToolNames } from './own-tools.ts';

/** How long a list waits for servers of which nothing is known. */
const firstListMs = 10_000;
/** How long it waits for one that says its list has changed. */
const changedListMs = 2_000;
/** No server can have it. */
const ownName = 'holdfast';
/** Entries of one page. */
const pageItems = 1_000;

export class View {
  readonly tools: NameTable;
  readonly prompts: NameTable;
  readonly #host: Host;
  readonly #clock: Clock;
  readonly #settings: GatewaySettings;
  readonly #uris: UriOwners;
  readonly #cursors = new Cursors(randomBytes(32));
  readonly #composed = new Map<string, Buffer>();
  /** Until when a server is waited for that has never given a list. */
  readonly #waitedUntil = new Map<string, number>();
  /** Servers without which a list was answered. */
  readonly #missed = new Set<string>();
  #recalled: Promise<void> | undefined;
  #isRecalled = false;

  constructor(host: Host, clock: Clock, settings: GatewaySettings) {
    this.#host = host;
    this.#clock = clock;
    this.#settings = settings;
    const reserved = ownToolNames(settings);
    const mode = settings.naming;
    const learn = (kind: ListKind) => (isCandidate: (server: Server) => boolean) =>
      this.#learn(kind, isCandidate);
    this.tools = new NameTable({ host, kind: 'tool', mode, reserved, learn: learn('tools') });
    const none: ReadonlySet<string> = new Set();
    this.prompts = new NameTable({
      host,
      kind: 'prompt',
      mode,
      reserved: none,
      learn: learn('prompts'),
    });
    this.#uris = new UriOwners(host.servers().map(({ name }) => name));
    void this.#recall();
  }

  /** A server's list is new or not what it was. True if clients have to be told. */
  changed(server: string, kind: ListKind, change: ListChange): boolean {
    this.#composed.clear();
    if (kind === 'tools') this.tools.changed();
    else if (kind === 'prompts') this.prompts.changed();
    else this.#claim(server);
    // Those who were answered without it have not seen it yet; before that there was nobody to tell.
    return change === 'new' || this.#missed.delete(`${kind} ${server}`);
  }

  #claim(name: string): void {
    const server = this.#host.servers().find((candidate) => candidate.name === name);
    const keys = (kind: ListKind) =>
      (server?.catalogue.definitions(kind) ?? []).map(({ key }) => key);
    this.#uris.listed(name, keys('resources'), keys('resourceTemplates'));
  }

  // --- lists -------------------------------------------------------------------------------

  /** The bytes of the result; undefined for a cursor that is none. */
  async list(
    kind: ListKind,
    { principal, era }: Incoming,
    cursor: string | undefined,
  ): Promise<Buffer | undefined> {
    if (!this.#isRecalled) await this.#recall();
    if (!(kind === 'tools' && this.#settings.surface === 'search'))
      await this.#update(kind, principal);
    const key = `${kind} ${era} ${principal.id}`;
    const kept = cursor === undefined ? this.#composed.get(key) : undefined;
    if (kept) return kept;
    const composed = this.#compose(kind, principal, era, cursor);
    const isLasting = era === 'legacy' || !this.#holdsForATime(kind, principal);
    if (composed && cursor === undefined && isLasting) this.#composed.set(key, composed);
    return composed;
  }

  #compose(
    kind: ListKind,
    principal: Principal,
    era: Incoming['era'],
    cursor: string | undefined,
  ): Buffer | undefined {
    const isSearch = kind === 'tools' && this.#settings.surface === 'search';
    const visible = isSearch ? [] : this.#visible(principal);
    const now = this.#clock.now();
    const parts = visible.map((server) => {
      const listing = server.catalogue.lists.known(kind);
      return {
        server: server.name,
        definitions: this.#readable(this.#allowed(server, kind, principal), kind, era),
        ttlMs: Math.max(0, Math.floor((listing?.holdsUntil ?? now) - now)),
        scope: listing?.scope ?? 'private',
      } as const;
    });
    const own = kind === 'tools' ? [this.#ownPart(principal)] : [];
    const view = {
      list: kind,
      parts: [...parts, ...own],
      isFiltered: this.#host.guard !== null,
      expose: (server: string, key: string) =>
        server === ownName ? key : this.#exposedKey(kind, server, key),
      exposeUri: (server: string, uri: string) =>
        server === ownName ? uri : this.#uris.exposed(server, uri),
      cursors: this.#cursors,
      maxItems: pageItems,
    };
    const result = listResult(view, era, cursor);
    return result && oneLine(result);
  }

  /** Does it say how long it holds? Then it says something else a moment later. */
  #holdsForATime(kind: ListKind, principal: Principal): boolean {
    const now = this.#clock.now();
    return this.#visible(principal).some(
      ({ catalogue }) => (catalogue.lists.known(kind)?.holdsUntil ?? 0) > now,
    );
  }

  /** The gateway's own tools hold for ever, and are the same for everybody. */
  #ownPart(principal: Principal): ListPart {
    const servers = this.#visible(principal).map(({ name }) => name);
    const text = Buffer.from(`[${ownDefinitions(this.#settings, servers).join(',')}]`);
    const { definitions } = readDefinitions(text, { start: 0, end: text.length }, 'tools');
    return { server: ownName, definitions, ttlMs: Number.POSITIVE_INFINITY, scope: 'public' };
  }

  #exposedKey(kind: ListKind, server: string, key: string): string | undefined {
    if (kind === 'tools') return this.tools.exposed({ server, name: key });
    if (kind === 'prompts') return this.prompts.exposed({ server, name: key });
    return kind === 'resources'
      ? this.#uris.exposed(server, key)
      : this.#uris.exposedTemplate(server, key);
  }

  #readable(
    definitions: readonly Definition[],
    kind: ListKind,
    era: Incoming['era'],
  ): readonly Definition[] {
    return kind === 'tools' && era === 'legacy' ? definitions.map(legacyDefinition) : definitions;
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

  // --- knowing -----------------------------------------------------------------------------

  #recall(): Promise<void> {
    this.#recalled ??= Promise.all(this.#host.servers().map((server) => server.recall())).then(
      () => {
        this.#isRecalled = true;
        for (const { name } of this.#host.servers()) this.#claim(name);
        this.tools.changed();
        this.prompts.changed();
      },
    );
    return this.#recalled;
  }

  /** Reads what is not known, or known to be old, of the servers that are there to be asked. */
  async #update(kind: ListKind, principal: Principal): Promise<void> {
    const visible = this.#visible(principal);
    const old = visible.filter(({ catalogue, supervisor }) => {
      const isKnown = catalogue.definitions(kind) !== undefined;
      return !isKnown || (!catalogue.lists.isFresh(kind) && supervisor.connection !== undefined);
    });
    if (old.length === 0) return;
    const waits = new Map(old.map((server) => [server, this.#waitMs(server, kind)]));
    const awaited = old.filter((server) => waits.get(server) !== 0);
    const others = old.filter((server) => waits.get(server) === 0);
    // Nobody waits for these: whoever does next time hears what went wrong.
    this.#readAll(others, kind).catch(() => {});
    await within(this.#clock, Math.max(0, ...waits.values()), this.#readAll(awaited, kind));
    for (const { catalogue, name } of old) {
      if (!catalogue.lists.isFresh(kind)) this.#missed.add(`${kind} ${name}`);
    }
  }

  /** A server of which nothing is known is waited for once, by all who ask; then it is news. */
  #waitMs({ catalogue, name }: Server, kind: ListKind): number {
    if (catalogue.definitions(kind) !== undefined) return changedListMs;
    const mark = `${kind} ${name}`;
    const now = this.#clock.now();
    const until = this.#waitedUntil.get(mark) ?? now + firstListMs;
    this.#waitedUntil.set(mark, until);
    return Math.max(0, until - now);
  }

  /** Some at a time; one that hangs gives up its place long before its time is over. */
  async #readAll(servers: readonly Server[], kind: ListKind): Promise<void> {
    const readings: Promise<void>[] = [];
    await eachOf(servers, (server) => {
      const reading = this.#read(server, kind, firstListMs);
      readings.push(reading);
      return within(this.#clock, changedListMs, reading);
    });
    await Promise.all(readings);
  }

  /** Ends when the list is read, cannot be read, or takes too long; in that case it goes on alone. */
  async #read(server: Server, kind: ListKind, deadlineMs: number): Promise<void> {
    try {
      await freshen(this.#host, server, kind, deadlineMs);
    } catch (error) {
      // It is shown as it was last known, or not; `status` has the cause.
      if (!(error instanceof Fault)) throw error;
      this.#waitedUntil.set(`${kind} ${server.name}`, this.#clock.now());
    }
  }

  /** For a name that nobody knows: asks those whose list is not known, and those it points to. */
  async #learn(kind: ListKind, isCandidate: (server: Server) => boolean): Promise<void> {
    if (!this.#isRecalled) await this.#recall();
    const unknown = this.#host.servers().filter((server) => {
      if (server.catalogue.definitions(kind) === undefined) return true;
      return isCandidate(server) && !server.catalogue.lists.isFresh(kind);
    });
    await eachOf(unknown, (server) => this.#read(server, kind, firstListMs));
  }

  // --- resources ---------------------------------------------------------------------------

  /** Whose resource this is. Servers that have never listed theirs are asked first. */
  async ownerOf(uri: string, principal: Principal): Promise<UriOwner | undefined> {
    if (!this.#isRecalled) await this.#recall();
    let owner = this.#uris.resolve(uri);
    // The only server there is owns everything, unless it says that it has no resources.
    if (!owner || this.#host.find(owner.server).greeting === undefined) {
      const none = () => false;
      await Promise.all([this.#learn('resources', none), this.#learn('resourceTemplates', none)]);
      owner = this.#uris.resolve(uri);
    }
    const { guard } = this.#host;
    if (owner && !this.#hasResources(owner.server)) return undefined;
    return owner && isAllowed(guard, principal, owner.server, owner.uri, 'resource')
      ? owner
      : undefined;
  }

  /** A server that says it has none is not asked for one. */
  #hasResources(server: string): boolean {
    const { greeting } = this.#host.find(server);
    return greeting === undefined || greeting.capabilities['resources'] !== undefined;
  }

  exposedUri(server: string, uri: string): string {
    return this.#uris.exposed(server, uri);
  }

  /** A result in which addresses that another server claims are told apart; the same if none is. */
  exposed(server: string, answer: Answer): Answer {
    if (this.#host.servers().length < 2) return answer;
    const { frame, result, object } = answer;
    for (const uri of collectUris(frame, object ?? result)) this.#uris.returned(server, uri);
    if (!this.#uris.hasRewrites(server)) return answer;
    const bytes = resultBytes(answer);
    const rewritten = this.exposedIn(server, bytes);
    return rewritten === bytes ? answer : answerOf(rewritten);
  }

  /** The same for a value that stands for itself. */
  exposedIn(server: string, bytes: Buffer): Buffer {
    const span = { start: 0, end: bytes.length };
    return rewriteUris(bytes, span, (uri) => this.#uris.exposed(server, uri));
  }

  // --- for those who look for tools --------------------------------------------------------

  /** The one server that this principal can use; undefined if there are more, or none. */
  onlyServer(principal: Principal): string | undefined {
    const [first, second] = this.#visible(principal);
    return second ? undefined : first?.name;
  }

  toolDefinition({
    server,
    name,
  }: {
    readonly server: string;
    readonly name: string;
  }): Definition | undefined {
    const { catalogue } = this.#host.find(server);
    return catalogue.definitions('tools')?.find(({ key }) => key === name);
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
    if (!this.#isRecalled) await this.#recall();
    await this.#update('tools', principal);
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
