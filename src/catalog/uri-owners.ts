// Decides which server owns a resource. Servers choose their own URIs, and two may choose the same:
// this index stores who listed a URI, who returned one in a result, and whose template it matches,
// and gives every URI one owner. The owner's URI stays unchanged; that of any other server is
// rewritten (see rewritten-uri), so what a client was shown always leads back to the server it came
// from. A listing counts more than a result, so that lists do not depend on calls. Among servers
// that list the same URI, the one whose URI a client has been shown stays the owner while it lists
// it; a URI that no client has been shown goes to the earlier server in the configuration. That
// also holds when servers are added, removed or reordered while the gateway runs. Other files
// rewrite bytes and read resources.

import { looksRewritten, readRewritten, rewrittenUri, serverMark } from './rewritten-uri.ts';
import { foldersOf, isSkillKey, skillKey, skillKeyOf } from './skill-folders.ts';
import {
  isAheadOfEarlier,
  isPreceded,
  type RankedTemplate,
  templaterOf,
} from './template-order.ts';
import { type Claims, reranked, separateTurns } from './uri-claims.ts';
import {
  type Holdings,
  holdingsOf,
  insert,
  judged,
  judgedAlone,
  remove,
  uriKey,
} from './uri-holdings.ts';
import { comparable, type UriTemplate } from './uri-template.ts';

/** URIs in results, stored for each server; the least recently used is dropped first. */
const maxReturned = 10_000;

export interface UriOwner {
  readonly server: string;
  /** As the server names it. */
  readonly uri: string;
}

/**
 * URIs that a server was shown to own although an earlier one lists the same: stored across
 * restarts.
 */
export interface HeldUris {
  readonly server: string;
  /** URIs, long ones by their hash, and templates. */
  readonly uris: readonly string[];
}

/** Such claims of all servers together; after a restart, the rest goes to the earlier server. */
const maxHeld = 1_000;
/** The turn of what an earlier run has shown: before all turns of this run. */
const heldTurn = -1;

export class UriOwners {
  #ranks: ReadonlyMap<string, number> = new Map();
  #marks: ReadonlyMap<string, number> = new Map();
  /** By rank. */
  #holdings: readonly Holdings[] = [];
  /** By address: at most what servers list, and `maxReturned` for each server. */
  #claims = new Map<string, Claims>();
  /** The server that was once the only one: an unclaimed URI was returned by it. */
  #first: string | undefined;
  #turn = 0;
  #isShown = false;

  /** The servers in the order of the configuration. */
  constructor(order: readonly string[]) {
    this.#setOrder(order);
  }

  /** Sets the current servers. Those that stay keep their claims; removed ones lose them. */
  reorder(order: readonly string[]): void {
    const before = this.#holdings;
    const isSame =
      order.length === before.length && before.every(({ server }, at) => server === order[at]);
    if (isSame) return;
    this.#first = this.#onlyServer() === undefined ? this.#first : before[0]?.server;
    const place = new Map(order.map((server, at) => [server, at]));
    const places = before.flatMap(({ server }) => place.get(server) ?? []);
    const isInOrder = places.every((at, index) => index === 0 || at > (places[index - 1] ?? -1));
    if (!isInOrder) this.#turn = separateTurns(this.#holdings);
    this.#setOrder(order);
    this.#claims = reranked(this.#claims, (rank) => this.#ranks.get(before[rank]?.server ?? ''));
    for (const holdings of this.#holdings) holdings.rewritten = 0;
    for (const [key, claims] of this.#claims) this.#count(key, claims, 1);
  }

  #setOrder(order: readonly string[]): void {
    const known = new Map(this.#holdings.map((holdings) => [holdings.server, holdings]));
    this.#holdings = order.map((server) => known.get(server) ?? holdingsOf(server));
    this.#ranks = new Map(order.map((server, rank) => [server, rank]));
    this.#marks = new Map(this.#holdings.map(({ mark }, rank) => [mark, rank]));
  }

  /** What an earlier run has shown; must be called before anything is listed. */
  recall(held: readonly HeldUris[]): void {
    for (const { server, uris } of held) {
      const rank = this.#ranks.get(server);
      if (rank !== undefined) this.#hold(rank, uris.slice(0, maxHeld));
    }
  }

  /** Until the server lists, these count as listed. */
  #hold(rank: number, uris: readonly string[]): void {
    const holdings = this.#at(rank);
    if (holdings.hasListed) return;
    holdings.held = new Set(uris);
    holdings.skills = uris.filter(isSkillKey).length;
    holdings.listed = new Map(uris.map((key) => [key, heldTurn]));
    for (const key of holdings.held) {
      this.#change(key, ({ listers }) => this.#enlist(listers, rank, key));
    }
  }

  /** What a server lists, skills by their main files; it replaces what the same server listed before. */
  listed(
    server: string,
    uris: readonly string[],
    templates: readonly string[],
    skills: readonly string[] = [],
  ): void {
    const rank = this.#rankOf(server);
    const holdings = this.#at(rank);
    if (this.#isShown) this.#turn += 1;
    this.#isShown = false;
    holdings.hasListed = true;
    const before = holdings.listed;
    const turnOf = (text: string, turns: ReadonlyMap<string, number>) =>
      turns.get(text) ?? (holdings.held.has(text) ? heldTurn : this.#turn);
    const keys = [...uris.map(uriKey), ...skills.map(skillKeyOf)];
    const now = new Map(keys.map((key) => [key, turnOf(key, before)]));
    holdings.skills = skills.length;
    for (const key of before.keys()) {
      if (!now.has(key)) this.#change(key, ({ listers }) => remove(listers, rank));
    }
    holdings.listed = now;
    for (const key of now.keys()) {
      if (!before.has(key)) this.#change(key, ({ listers }) => this.#enlist(listers, rank, key));
    }
    holdings.templates = judged(templates);
    const { templateTurns } = holdings;
    const known = [...holdings.templates.keys()];
    holdings.templateTurns = new Map(known.map((text) => [text, turnOf(text, templateTurns)]));
    holdings.rewrittenTemplates = new Set(templates).size - holdings.templates.size;
  }

  /** How many addresses are claimed. */
  get size(): number {
    return this.#claims.size;
  }

  /** What has to be kept so that it stays with its owner after a restart. */
  held(): readonly HeldUris[] {
    if (this.#turn === 0 && this.#holdings.every(({ held }) => held.size === 0)) return [];
    const held: (readonly [rank: number, text: string])[] = [];
    for (const [key, { listers }] of this.#claims) {
      const [owner] = listers;
      if (owner !== undefined && listers.some((rank) => rank < owner)) held.push([owner, key]);
    }
    for (const [rank, holdings] of this.#holdings.entries()) {
      for (const [text, template] of holdings.templates) {
        const ranked = this.#ranked(text, template, rank);
        if (isAheadOfEarlier(this.#holdings, ranked)) held.push([rank, text]);
      }
      // The server may still list these.
      if (!holdings.hasListed) for (const text of holdings.held) held.push([rank, text]);
    }
    const ofRank = (rank: number) =>
      held.slice(0, maxHeld).flatMap(([owner, text]) => (owner === rank ? [text] : []));
    return this.#holdings
      .map(({ server }, rank) => ({ server, uris: [...new Set(ofRank(rank))] }))
      .filter(({ uris }) => uris.length > 0);
  }

  /**
   * A URI occurred in a result of this server. Must be called before the result's URIs are exposed.
   */
  returned(server: string, uri: string): void {
    const rank = this.#ranks.get(server);
    // An answer of a server that was removed meanwhile.
    if (rank === undefined) return;
    const { returned } = this.#at(rank);
    const key = uriKey(uri);
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
    this.#isShown = true;
    const rank = this.#ranks.get(server);
    if (rank === undefined) return this.#exposedOfNobody(server, uri);
    const keeps = !looksRewritten(uri) && this.#owner(uri, rank) === rank;
    return keeps ? uri : rewrittenUri(this.#at(rank).mark, uri);
  }

  /**
   * Its server was removed: the URI may belong to another server now and must not be used for it.
   */
  #exposedOfNobody(server: string, uri: string): string {
    const isFree = !looksRewritten(uri) && this.#owner(uri) === undefined;
    return isFree ? uri : rewrittenUri(serverMark(server), uri);
  }

  /** A template of this server as clients see it. */
  exposedTemplate(server: string, uriTemplate: string): string {
    const rank = this.#rankOf(server);
    this.#isShown = true;
    const { mark, templates } = this.#at(rank);
    const template = templates.get(uriTemplate) ?? judgedAlone(uriTemplate, templates.size);
    const ranked = template && this.#ranked(uriTemplate, template, rank);
    const keeps = ranked !== undefined && !isPreceded(this.#holdings, ranked);
    return keeps ? uriTemplate : rewrittenUri(mark, uriTemplate);
  }

  /** The owner of a URI or template that a client names; a template matches its own text. */
  resolve(uri: string): UriOwner | undefined {
    if (looksRewritten(uri)) return this.#original(uri);
    this.#isShown = true;
    const rank = this.#owner(uri) ?? this.#onlyServer();
    if (rank === undefined) return undefined;
    const { server, returned } = this.#at(rank);
    const key = uriKey(uri);
    if (returned.delete(key)) returned.add(key);
    return { server, uri };
  }

  /** Whether there is no other server. */
  isOnly(server: string): boolean {
    return this.#holdings.length === 1 && this.#holdings[0]?.server === server;
  }

  /**
   * For a URI that no server claims: the server that was alone when it may have been returned, if
   * it still exists.
   */
  firstServer(uri: string): UriOwner | undefined {
    const isThere = this.#first !== undefined && this.#ranks.has(this.#first);
    return isThere && !looksRewritten(uri) ? { server: this.#first as string, uri } : undefined;
  }

  /**
   * False only if `exposed` changes nothing that this server listed or returned so far. It is
   * cheap, and may be true without need where a server that can come before it has templates.
   */
  hasRewrites(server: string): boolean {
    const rank = this.#ranks.get(server);
    if (rank === undefined) return true;
    const { rewritten, rewrittenTemplates } = this.#at(rank);
    if (rewritten > 0 || rewrittenTemplates > 0) return true;
    if (this.#holdings.some(({ skills }, other) => skills > 0 && other !== rank)) return true;
    const isInOrder = this.#turn === 0 && this.#holdings.every(({ held }) => held.size === 0);
    return this.#holdings.some(
      ({ templates }, other) => templates.size > 0 && (isInOrder ? other < rank : other !== rank),
    );
  }

  #original(uri: string): UriOwner | undefined {
    const parts = readRewritten(uri);
    const rank = parts && this.#marks.get(parts.mark);
    return rank === undefined || parts === undefined
      ? undefined
      : { server: this.#at(rank).server, uri: parts.uri };
  }

  /** The rank of the URI's owner; `asker` is a server that returned it, and so claims it too. */
  #owner(uri: string, asker = Number.POSITIVE_INFINITY): number | undefined {
    const claims = this.#claims.get(uriKey(uri));
    const lister = this.#skillOwner(uri) ?? claims?.listers[0];
    if (lister !== undefined) return lister;
    const nearest = Math.min(asker, claims?.returners[0] ?? Number.POSITIVE_INFINITY);
    // A template of an earlier server comes before what a later one returned.
    const templater = templaterOf(this.#holdings, comparable(uri), nearest);
    if (templater !== undefined) return templater;
    return nearest === Number.POSITIVE_INFINITY ? undefined : nearest;
  }

  /** A skill is one folder: everything in it belongs to the server that has the skill. */
  #skillOwner(uri: string): number | undefined {
    if (this.#holdings.every(({ skills }) => skills === 0)) return undefined;
    for (const folder of foldersOf(uri)) {
      const owner = this.#claims.get(skillKey(folder))?.listers[0];
      if (owner !== undefined) return owner;
    }
    return undefined;
  }

  #ranked(text: string, template: UriTemplate, rank: number): RankedTemplate {
    return { template, rank, turn: this.#at(rank).templateTurns.get(text) ?? this.#turn };
  }

  /** Behind those that listed it in an earlier turn, and behind earlier servers of the same turn. */
  #enlist(listers: number[], rank: number, key: string): void {
    const turnOf = (lister: number) => this.#at(lister).listed.get(key) ?? this.#turn;
    const own = turnOf(rank);
    const at = listers.findIndex((other) => {
      const turn = turnOf(other);
      return turn === own ? other > rank : turn > own;
    });
    listers.splice(at < 0 ? listers.length : at, 0, rank);
  }

  #onlyServer(): number | undefined {
    return this.#holdings.length === 1 ? 0 : undefined;
  }

  /** Changes the claims to one URI, and counts which servers have to rewrite it. */
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
