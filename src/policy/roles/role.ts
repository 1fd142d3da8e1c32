// What one role may do. A thing with a name is allowed if a pattern of `allow` matches it and none of `deny`
// does. A server as a whole is seen if something that it could have is allowed. Methods that MCP does not
// define can do anything at their server, so they need all of the server. Operating a server needs
// `operator` besides. What is registered, running or listed plays no part.

import type { AccessRequest } from '../access.ts';
import type { BudgetRules } from '../role-budgets/budget-rules.ts';
import { AddressReadings } from './address-readings.ts';
import { isAmbiguousAddress } from './ambiguous-address.ts';
import { type Pattern, type PatternKind, patternKinds } from './pattern.ts';
import { PatternList } from './pattern-list.ts';
import { searchToolNames } from './search-tools.ts';
import { noAliases, type ToolAliases } from './tool-aliases.ts';

/** As it is in the config. */
export interface RoleRules {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly operator: boolean;
  /** Null, or absent: its calls are not counted. */
  readonly budget?: BudgetRules | null;
}

/** Why not, in one line; undefined if it is allowed. */
export type RoleDenial = string | undefined;

export class Role {
  readonly isOperator: boolean;
  /** Names the scope of its principals: see `Access.scopeOf`. */
  readonly scope: string;
  /** It has all tools, prompts and resources of every server, those that come later included. */
  readonly isEverything: boolean;
  readonly #name: string;
  readonly #allow: PatternList;
  readonly #deny: PatternList;

  constructor(
    name: string,
    { allow, deny, operator }: RoleRules,
    aliases: ToolAliases = noAliases,
  ) {
    this.#name = name;
    this.#allow = new PatternList(allow, aliases);
    this.#deny = new PatternList(deny, aliases);
    this.isOperator = operator;
    this.scope = `role ${name}`;
    this.isEverything = allow.includes('*') && deny.length === 0;
  }

  denial({ action, server, kind, name, of }: AccessRequest): RoleDenial {
    switch (kind) {
      case 'tool':
      case 'prompt':
      case 'resource':
        return name === null ? this.#unseen(server, kind) : this.#named(kind, server, name);
      case 'other':
        return name === rootsChanged ? this.#unseen(server) : this.#incomplete(server);
      case 'server':
        return this.#ofServer(action, server, of);
    }
  }

  #named(kind: PatternKind, server: string, name: string): RoleDenial {
    if (this.isEverything) return undefined;
    if (kind === 'resource') return this.#addressed(server, name);
    const isMatch = (pattern: Pattern) => pattern.matches(kind, server, name);
    const against = this.#deny.find(server, isMatch);
    if (against) return this.#denies(against);
    if (this.#allow.find(server, isMatch)) return undefined;
    const isSearched = !this.#allow.isEmpty && isSearchTool(kind, server, name);
    return isSearched ? undefined : this.#unmatched();
  }

  #addressed(server: string, address: string): RoleDenial {
    // Before anything else: what is computed below can be many times as long as the address.
    if (isTooLong(address)) return tooLong;
    if (isAmbiguousAddress(address)) return severalReadings;
    const readings = new AddressReadings(address);
    const against = this.#deny.find(server, (one) => one.deniesAddress(server, readings));
    if (against) return this.#denies(against);
    const isAllowed = readings.texts.every((reading, at) =>
      this.#allow.find(server, (one) => one.allowsReading(server, at, reading)),
    );
    return isAllowed ? undefined : this.#unmatched();
  }

  #ofServer(
    action: AccessRequest['action'],
    server: string,
    of: PatternKind | undefined,
  ): RoleDenial {
    switch (action) {
      case 'list':
      case 'start':
      case 'status':
      case 'lease':
        return this.#unseen(server, of);
      case 'events':
      case 'reload':
      case 'stop':
        if (!this.isOperator) return `it needs "operator": true in the role '${this.#name}'`;
        return this.#unseen(server);
      default:
        return 'no role may do this';
    }
  }

  /** `of`: only what it has of this kind counts. */
  #unseen(server: string, of?: PatternKind): RoleDenial {
    const isSeen = (kind: PatternKind) =>
      this.#allow.find(server, (pattern) => pattern.touches(kind, server)) !== undefined &&
      !this.#deny.find(server, (pattern) => pattern.covers(kind, server));
    if (of === undefined ? patternKinds.some(isSeen) : isSeen(of)) return undefined;
    return `the role '${this.#name}' allows nothing of this server`;
  }

  #incomplete(server: string): RoleDenial {
    const isWhole = (kind: PatternKind) =>
      this.#allow.find(server, (pattern) => pattern.covers(kind, server)) !== undefined &&
      !this.#deny.find(server, (pattern) => pattern.touches(kind, server));
    if (patternKinds.every(isWhole)) return undefined;
    return 'a method that MCP does not define needs all tools, prompts and resources of the server';
  }

  #unmatched(): string {
    return `no pattern in "allow" of the role '${this.#name}' matches it`;
  }

  #denies({ text }: Pattern): string {
    return `"${text}" in "deny" of the role '${this.#name}' matches it`;
  }
}

/** In UTF-16 units; templates match no longer ones either (catalog/uri-template.ts). */
export const longestAddress = 4_096;

/** Also one that is longer once look-alikes are replaced: one character can stand for 18. */
function isTooLong(address: string): boolean {
  if (address.length > longestAddress) return true;
  return address.normalize('NFKC').length > longestAddress;
}

const tooLong = `its address has more than ${longestAddress} characters: patterns are not compared with longer ones`;

const severalReadings =
  'its address can be read in several ways: only a form that every parser of addresses leaves as it is can be allowed';

/** The only notification of a client about itself that servers get. */
const rootsChanged = 'notifications/roots/list_changed';

function isSearchTool(kind: PatternKind, server: string, name: string): boolean {
  const names: readonly string[] = searchToolNames;
  return kind === 'tool' && server === 'holdfast' && names.includes(name);
}
