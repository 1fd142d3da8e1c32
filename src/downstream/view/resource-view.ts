// The owner of each resource, as clients see it. A server owns what it lists or has returned; an
// address that two servers claim is rewritten for the client and restored for the server. Where
// nothing is claimed twice the bytes of a result are not changed.

import { skillKeyOf } from '../../catalog/skill-folders.ts';
import { uriKey } from '../../catalog/uri-holdings.ts';
import { type UriOwner, UriOwners } from '../../catalog/uri-owners.ts';
import { collectUris, rewriteUris } from '../../catalog/uri-rewriting.ts';
import { type Answer, answerOf, resultBytes } from '../../host/call/answer.ts';
import type { Caller } from '../../host/connections/caller.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import type { ListKind } from '../../host/lists/listings.ts';
import type { Asked } from '../../policy/access.ts';
import { GivenNames, isNamesRecord } from './given-names.ts';
import type { KnownLists } from './known-lists.ts';

export class ResourceView {
  readonly #host: HostForGateway;
  readonly #known: () => KnownLists;
  readonly #uris: UriOwners;
  readonly #kept: GivenNames;
  #isRecalled = false;

  constructor(host: HostForGateway, known: () => KnownLists) {
    this.#host = host;
    this.#known = known;
    this.#uris = new UriOwners(host.servers().map(({ name }) => name));
    this.#kept = new GivenNames(
      host.records('names', { durability: 'forgetful', shape: isNamesRecord }),
      [host.configFile, 'resource'],
    );
  }

  /** Addresses that an earlier run has shown as those of a later server stay with it. */
  async recall(): Promise<void> {
    const given = await this.#kept.recall();
    const servers = this.#host.servers().map(({ name }) => name);
    const held = new Map(servers.map((server) => [server, [] as string[]]));
    for (const [uri, { server }] of given) held.get(server)?.push(uri);
    this.#uris.recall([...held].map(([server, uris]) => ({ server, uris })));
    this.#isRecalled = true;
  }

  /** Servers were added, removed or reordered. */
  serversChanged(): void {
    this.#uris.reorder(this.#host.servers().map(({ name }) => name));
    if (this.#isRecalled) this.#keep();
  }

  /** What this server lists is new, or not what it was. */
  changed(name: string): void {
    const server = this.#host.get(name);
    const keys = (kind: ListKind) => server?.offerings.definitions(kind)?.map(({ key }) => key);
    const [uris, templates, skills] = (['resources', 'resourceTemplates', 'skills'] as const).map(
      keys,
    );
    // For a server that has not listed, only stored claims are known.
    if (uris === undefined && templates === undefined && skills === undefined) return;
    this.#uris.listed(name, uris ?? [], templates ?? [], skills ?? []);
    if (this.#isRecalled) this.#keep();
  }

  #keep(): void {
    const held = this.#uris.held();
    const shared = new Map(held.map(({ server }) => [server, this.#sharedOf(server)]));
    this.#kept.keep(
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
    return this.#uris.size;
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
    let owner = this.#uris.resolve(uri);
    // The only server there is owns everything, unless it says that it has no resources.
    if (!owner || this.#host.find(owner.server).greeting === undefined) {
      const none = () => false;
      const kinds = ['resources', 'resourceTemplates', 'skills'] as const;
      await Promise.all(kinds.map((kind) => known.learn(kind, caller, none)));
      owner = this.#uris.resolve(uri) ?? this.#uris.firstServer(uri);
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
    return this.#uris.exposed(server, uri);
  }

  exposedTemplate(server: string, uriTemplate: string): string {
    return this.#uris.exposedTemplate(server, uriTemplate);
  }

  /**
   * A result in which addresses that another server claims are rewritten; the same if there are
   * none.
   */
  exposedAnswer(server: string, answer: Answer): Answer {
    const servers = this.#host.servers();
    if (servers.length === 1 && servers[0]?.name === server) return answer;
    const { frame, result, object } = answer;
    for (const uri of collectUris(frame, object ?? result)) this.#uris.returned(server, uri);
    if (!this.#uris.hasRewrites(server)) return answer;
    const bytes = resultBytes(answer);
    const rewritten = this.exposedIn(server, bytes);
    return rewritten === bytes ? answer : answerOf(rewritten);
  }

  /** The same for a single value. */
  exposedIn(server: string, bytes: Buffer): Buffer {
    const span = { start: 0, end: bytes.length };
    return rewriteUris(bytes, span, (uri) => this.#uris.exposed(server, uri));
  }
}
