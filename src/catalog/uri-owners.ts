// Whose a resource is. Servers name their resources by URIs of their own choosing, and two may choose
// the same: the index here knows who listed a URI, who returned one in a result, and whose template
// it fits, and gives every URI one owner. The owner's stays as it is; anybody else's is rewritten
// (see rewritten-uri), so what a client was shown always leads back to the server it came from. A
// listing counts more than a result, so that lists do not change by what was called; among equals the
// earlier in the configuration is the owner. Rewriting bytes and reading resources is left to others.

import { hash } from 'node:crypto';
import { looksRewritten, readRewritten, rewrittenUri, serverMark } from './rewritten-uri.ts';
import { comparable, matchesOne, overlap, templateFrom, type UriTemplate } from './uri-template.ts';

/** URIs that stood in results, remembered for each server; the least recently used goes first. */
const maxReturned = 10_000;
/** Templates that are compared with others; what a server lists beyond is always rewritten. */
const maxTemplates = 256;
/** Longer URIs are remembered by their hash, so that a server cannot make us keep megabytes. */
const maxKeyLength = 256;

export interface UriOwner {
  readonly server: string;
  /** As the server knows it. */
  readonly uri: string;
}

interface Claims {
  /** Ranks of servers, lowest first. */
  readonly listers: number[];
  readonly returners: number[];
}

interface Holdings {
  readonly server: string;
  readonly mark: string;
  listed: ReadonlySet<string>;
  /** In order of use. */
  readonly returned: Set<string>;
  templates: ReadonlyMap<string, UriTemplate>;
  /** How many of its claims are to URIs that another owns. */
  rewritten: number;
  /** How many of its templates cannot be compared. */
  rewrittenTemplates: number;
}

export class UriOwners {
  readonly #ranks: ReadonlyMap<string, number>;
  readonly #marks: ReadonlyMap<string, number>;
  /** By rank. */
  readonly #holdings: readonly Holdings[];
  /** By address: at most what servers list, and `maxReturned` for each server. */
  readonly #claims = new Map<string, Claims>();

  /** The servers in the order of the configuration. */
  constructor(order: readonly string[]) {
    this.#holdings = order.map(holdingsOf);
    this.#ranks = new Map(order.map((server, rank) => [server, rank]));
    this.#marks = new Map(this.#holdings.map(({ mark }, rank) => [mark, rank]));
  }

  /** What a server lists; it replaces what the same server listed before. */
  listed(server: string, uris: readonly string[], templates: readonly string[]): void {
    const rank = this.#rankOf(server);
    const holdings = this.#at(rank);
    const keys = new Set(uris.map(keyOf));
    for (const key of holdings.listed) {
      if (!keys.has(key)) this.#change(key, ({ listers }) => remove(listers, rank));
    }
    for (const key of keys) {
      if (!holdings.listed.has(key)) this.#change(key, ({ listers }) => insert(listers, rank));
    }
    holdings.listed = keys;
    holdings.templates = judged(templates);
    holdings.rewrittenTemplates = new Set(templates).size - holdings.templates.size;
  }

  /** A URI stood in a result of this server. To be told before the result's URIs are exposed. */
  returned(server: string, uri: string): void {
    const rank = this.#rankOf(server);
    const { returned } = this.#at(rank);
    const key = keyOf(uri);
    if (!returned.delete(key)) this.#change(key, ({ returners }) => insert(returners, rank));
    returned.add(key);
    if (returned.size <= maxReturned) return;
    for (const oldest of returned) {
      returned.delete(oldest);
      this.#change(oldest, ({ returners }) => remove(returners, rank));
      return;
    }
  }

  /** A URI of this server as clients see it. */
  exposed(server: string, uri: string): string {
    const rank = this.#rankOf(server);
    const keeps = !looksRewritten(uri) && this.#owner(uri, rank) === rank;
    return keeps ? uri : rewrittenUri(this.#at(rank).mark, uri);
  }

  /** A template of this server as clients see it. */
  exposedTemplate(server: string, uriTemplate: string): string {
    const rank = this.#rankOf(server);
    const { mark, templates } = this.#at(rank);
    const template = templates.get(uriTemplate) ?? judgedAlone(uriTemplate, templates.size);
    const keeps = template !== undefined && !this.#isPreceded(template, rank);
    return keeps ? uriTemplate : rewrittenUri(mark, uriTemplate);
  }

  /** Who owns what a client names: a URI, or a template, whose own text fits it. */
  resolve(uri: string): UriOwner | undefined {
    if (looksRewritten(uri)) return this.#original(uri);
    const rank = this.#owner(uri) ?? this.#onlyServer();
    if (rank === undefined) return undefined;
    const { server, returned } = this.#at(rank);
    const key = keyOf(uri);
    if (returned.delete(key)) returned.add(key);
    return { server, uri };
  }

  /**
   * False only if `exposed` changes nothing that this server listed or returned so far. It is cheap,
   * and may be true for nothing where an earlier server has templates.
   */
  hasRewrites(server: string): boolean {
    const rank = this.#rankOf(server);
    const { rewritten, rewrittenTemplates } = this.#at(rank);
    if (rewritten > 0 || rewrittenTemplates > 0) return true;
    return this.#holdings.some(({ templates }, other) => other < rank && templates.size > 0);
  }

  #original(uri: string): UriOwner | undefined {
    const parts = readRewritten(uri);
    const rank = parts && this.#marks.get(parts.mark);
    return rank === undefined || parts === undefined
      ? undefined
      : { server: this.#at(rank).server, uri: parts.uri };
  }

  /** The rank of the URI's owner; `asker` is a server that has it in hand, and so claims it too. */
  #owner(uri: string, asker = Number.POSITIVE_INFINITY): number | undefined {
    const claims = this.#claims.get(keyOf(uri));
    const lister = claims?.listers[0];
    if (lister !== undefined) return lister;
    const nearest = Math.min(asker, claims?.returners[0] ?? Number.POSITIVE_INFINITY);
    // A template of an earlier server comes before what a later one returned.
    const text = comparable(uri);
    const templater = this.#holdings.findIndex(
      ({ templates }, rank) =>
        text !== undefined && rank < nearest && matchesOne(templates.values(), text),
    );
    if (templater >= 0) return templater;
    return nearest === Number.POSITIVE_INFINITY ? undefined : nearest;
  }

  /** Does an earlier server have a template that can give the same URIs? */
  #isPreceded(template: UriTemplate, rank: number): boolean {
    for (const { templates } of this.#holdings.slice(0, rank)) {
      for (const other of templates.values()) if (overlap(other, template)) return true;
    }
    return false;
  }

  #onlyServer(): number | undefined {
    return this.#holdings.length === 1 ? 0 : undefined;
  }

  /** Changes the claims to one URI, and keeps count of who has to rewrite it. */
  #change(key: string, change: (claims: Claims) => void): void {
    const claims = this.#claims.get(key) ?? { listers: [], returners: [] };
    this.#count(key, claims, -1);
    change(claims);
    this.#count(key, claims, 1);
    if (claims.listers.length + claims.returners.length === 0) this.#claims.delete(key);
    else this.#claims.set(key, claims);
  }

  #count(key: string, { listers, returners }: Claims, by: 1 | -1): void {
    const owner = looksRewritten(key) ? undefined : (listers[0] ?? returners[0]);
    for (const rank of [...listers, ...returners]) {
      if (rank !== owner) this.#at(rank).rewritten += by;
    }
  }

  #rankOf(server: string): number {
    const rank = this.#ranks.get(server);
    if (rank === undefined) throw new RangeError(`no server named '${server}' owns URIs here`);
    return rank;
  }

  #at(rank: number): Holdings {
    return this.#holdings[rank] as Holdings;
  }
}

function holdingsOf(server: string): Holdings {
  return {
    server,
    mark: serverMark(server),
    listed: new Set(),
    returned: new Set(),
    templates: new Map(),
    rewritten: 0,
    rewrittenTemplates: 0,
  };
}

/** The templates that can be compared with others; the rest is rewritten unseen. */
function judged(texts: readonly string[]): ReadonlyMap<string, UriTemplate> {
  const templates = new Map<string, UriTemplate>();
  for (const text of texts) {
    const template = judgedAlone(text, templates.size);
    if (template !== undefined) templates.set(text, template);
  }
  return templates;
}

function judgedAlone(text: string, before: number): UriTemplate | undefined {
  return before < maxTemplates && !looksRewritten(text) ? templateFrom(text) : undefined;
}

/** The beginning stays readable: whether a URI looks rewritten is told by it. */
function keyOf(uri: string): string {
  if (uri.length <= maxKeyLength) return uri;
  return `${uri.slice(0, 16)}\n${hash('sha256', uri, 'base64url')}`;
}

function insert(ranks: number[], rank: number): void {
  const at = ranks.findIndex((other) => other > rank);
  ranks.splice(at < 0 ? ranks.length : at, 0, rank);
}

function remove(ranks: number[], rank: number): void {
  ranks.splice(ranks.indexOf(rank), 1);
}
