// The owner of each resource, as clients see it. A server owns what it lists or has returned; an
// address that two servers claim is rewritten for the client and restored for the server. Where
// nothing is claimed twice the bytes of a result are not changed.

import { skillKeyOf } from '../../catalog/skill-folders.ts';
import { uriKey } from '../../catalog/uri-holdings.ts';
import { type HeldUris, type UriOwner, UriOwners } from '../../catalog/uri-owners.ts';
import { collectUris, rewriteUris } from '../../catalog/uri-rewriting.ts';
import { type Answer, answerOf, resultBytes } from '../../host/call/answer.ts';
import type { Caller } from '../../host/connections/caller.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import type { ListKind } from '../../host/lists/listings.ts';
import type { Server } from '../../host/servers/server.ts';
import type { Asked } from '../../policy/access.ts';
import type { GivenNames } from './given-names.ts';
import type { KnownLists } from './known-lists.ts';
import type { Sight } from './sight.ts';

export interface ResourceViewParts {
  readonly host: HostForGateway;
  readonly sight: Sight;
  readonly known: () => KnownLists;
  /** Where owners are stored across restarts; undefined: they are not. */
  readonly kept?: GivenNames | undefined;
  /** Addresses that are known to belong to later servers. */
  readonly held?: readonly HeldUris[] | undefined;
}

export class ResourceView {
  readonly #host: HostForGateway;
  readonly #sight: Sight;
  readonly #known: () => KnownLists;
  readonly #uris: UriOwners;
  readonly #kept: GivenNames | undefined;
  #isRecalled = false;
  /** Servers whose lists are read again when they are needed; at most all. */
  readonly #unread = new Set<string>();

  constructor({ host, sight, known, kept, held }: ResourceViewParts) {
    this.#host = host;
    this.#sight = sight;
    this.#known = known;
    this.#kept = kept;
    const names = sight.servers().map(({ name }) => name);
    this.#uris = new UriOwners(names);
    if (held) this.#uris.recall(held);
    for (const name of names) this.#unread.add(name);
  }

  /** The owners, of what is listed now. */
  get #owners(): UriOwners {
    if (this.#unread.size === 0) return this.#uris;
    const unread = [...this.#unread];
    this.#unread.clear();
    const seen = new Map(this.#sight.servers().map((server) => [server.name, server]));
    this.#uris.reorder([...seen.keys()]);
    for (const name of unread) this.#read(name, seen.get(name));
    if (this.#isRecalled) this.#keep();
    return this.#uris;
  }

  /** Addresses that belong to servers although earlier ones list them too. */
  get held(): readonly HeldUris[] {
    return this.#owners.held();
  }

  /** Addresses that an earlier run has shown as those of a later server stay with it. */
  async recall(): Promise<void> {
    const given = (await this.#kept?.recall()) ?? [];
    const servers = this.#sight.servers().map(({ name }) => name);
    const held = new Map(servers.map((server) => [server, [] as string[]]));
    for (const [uri, { server }] of given) held.get(server)?.push(uri);
    this.#uris.recall([...held].map(([server, uris]) => ({ server, uris })));
    this.#isRecalled = true;
  }

  /** Servers were added, removed or reordered. */
  serversChanged(): void {
    const servers = this.#sight.servers().map(({ name }) => name);
    this.#uris.reorder(servers);
    for (const name of [...this.#unread]) if (!servers.includes(name)) this.#unread.delete(name);
    if (this.#isRecalled) this.#keep();
  }

  /** What this server lists is new, or not what it was. */
  changed(name: string): void {
    this.#unread.add(name);
  }

  #read(name: string, server: Server | undefined): void {
    const keys = (kind: ListKind) => server && this.#sight.keys(server, kind);
    const [uris, templates, skills] = (['resources', 'resourceTemplates', 'skills'] as const).map(
      keys,
    );
    // For a server that has not listed, only stored claims are known.
    if (uris === undefined && templates === undefined && skills === undefined) return;
    this.#uris.listed(name, uris ?? [], templates ?? [], skills ?? []);
  }

  #keep(): void {
    const held = this.#uris.held();
    const shared = new Map(held.map(({ server }) => [server, this.#sharedOf(server)]));
    this.#kept?.keep(
      held.flatMap(({ server, uris }) => uris.map((uri) => [uri, { server, name: uri }] as const)),
      ({ server, name }) => shared.get(server)?.has(name) ?? false,
    );
  }

  /** What it lists to more than single clients, as the keys that are held. */
  #sharedOf(name: string): ReadonlySet<string> {
    const offerings = this.#host.get(name)?.offerings;
    if (offerings === undefined) return new Set();
    return new Set([
      ...[...offerings.sharedKeys('resources')].map(uriKey),
      ...offerings.sharedKeys('resourceTemplates'),
      ...[...offerings.sharedKeys('skills')].map(skillKeyOf),
    ]);
  }

  /** How many addresses are claimed. */
  get size(): number {
    return this.#owners.size;
  }

  /** The owner of this resource. Servers that have never listed theirs are asked first. */
  async ownerOf(
    uri: string,
    caller: Caller,
    { action, method }: Asked,
  ): Promise<UriOwner | undefined> {
    const { principal } = caller;
    const known = this.#known();
    await known.recalled();
    let owner = this.#owners.resolve(uri);
    // The only server there is owns everything, unless it says that it has no resources.
    if (!owner || this.#host.find(owner.server).greeting === undefined) {
      const none = () => false;
      const kinds = ['resources', 'resourceTemplates', 'skills'] as const;
      await Promise.all(kinds.map((kind) => known.learn(kind, caller, none)));
      owner = this.#owners.resolve(uri) ?? this.#owners.firstServer(uri);
    }
    if (!owner || !this.#hasResources(owner.server)) return undefined;
    const { server, uri: name } = owner;
    const request = { action, server, kind: 'resource', name, method } as const;
    return this.#host.access.isAllowed(principal, request) ? owner : undefined;
  }

  /** A server that says it has none is not asked for one. */
  #hasResources(server: string): boolean {
    const { greeting } = this.#host.find(server);
    return greeting === undefined || greeting.capabilities['resources'] !== undefined;
  }

  /** An address of this server as clients see it. */
  exposed(server: string, uri: string): string {
    return this.#owners.exposed(server, uri);
  }

  exposedTemplate(server: string, uriTemplate: string): string {
    return this.#owners.exposedTemplate(server, uriTemplate);
  }

  /**
   * A result in which addresses that another server claims are rewritten; the same if there are
   * none.
   */
  exposedAnswer(server: string, answer: Answer): Answer {
    if (this.#owners.isOnly(server)) return answer;
    const { frame, result, object } = answer;
    for (const uri of collectUris(frame, object ?? result)) this.#owners.returned(server, uri);
    if (!this.#owners.hasRewrites(server)) return answer;
    const bytes = resultBytes(answer);
    const rewritten = this.exposedIn(server, bytes);
    return rewritten === bytes ? answer : answerOf(rewritten);
  }

  /** The same for a single value. */
  exposedIn(server: string, bytes: Buffer): Buffer {
    const span = { start: 0, end: bytes.length };
    return rewriteUris(bytes, span, (uri) => this.#owners.exposed(server, uri));
  }
}
