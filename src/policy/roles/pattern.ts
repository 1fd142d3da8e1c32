// One entry of a role's `allow` or `deny`: `server/tool`, the flat name `server__tool`,
// `prompt:server/name`, `resource:server/uri`, or `*` for everything there is. A server's name has neither a
// slash nor two underscores, so the first of these ends it. A tool may be named as its server names it, as
// clients see it (with a hash, where the name had to be changed), or as the config renames it. Whether such a
// server, tool or resource exists plays no part here.

import { hashedName, prefixedName } from '../../kernel/prefixed-name.ts';
import { AddressGlob, type AddressReadings } from './address-readings.ts';
import { Glob } from './glob.ts';
import { noAliases, type ToolAliases } from './tool-aliases.ts';

/** Between server and tool in a flat name; no server's name contains it. */
const flatSeparator = '__';

/** What a pattern can be about. */
export type PatternKind = 'tool' | 'prompt' | 'resource';

export const patternKinds: readonly PatternKind[] = ['tool', 'prompt', 'resource'];

export class Pattern {
  /** As it is in the config. */
  readonly text: string;
  /** The only server at which it can match; undefined if there may be several. */
  readonly onlyServer: string | undefined;
  /** Undefined: everything. */
  readonly #kind: PatternKind | undefined;
  readonly #server: Glob | undefined;
  readonly #name: Glob;
  /** Of one that can be about resources. */
  readonly #address: AddressGlob | undefined;

  readonly #aliases: ToolAliases;

  /** Of a text that `patternProblem` finds nothing wrong with. */
  constructor(text: string, aliases: ToolAliases = noAliases) {
    this.text = text;
    this.#aliases = aliases;
    const { kind, rest } = partsOf(text);
    const slash = slashIn(kind, rest);
    const named = slash < 0 ? rest.split(flatSeparator, 1)[0] : rest.slice(0, slash);
    this.#kind = text === '*' ? undefined : kind;
    this.#server = slash < 0 ? undefined : new Glob(rest.slice(0, slash));
    this.#name = new Glob(rest.slice(slash + 1));
    this.#address = this.#isAbout('resource') ? new AddressGlob(rest.slice(slash + 1)) : undefined;
    const isAlias =
      slash < 0 && kind === 'tool' && aliases.all().some((as) => this.#name.matches(as));
    this.onlyServer = isAlias || named?.includes('*') ? undefined : named;
  }

  matches(kind: PatternKind, server: string, name: string): boolean {
    if (!this.#isAbout(kind)) return false;
    const as = kind === 'tool' ? this.#aliases.of(server, name) : undefined;
    const names = as === undefined ? [name] : [name, as];
    if (this.#server !== undefined) {
      return this.#server.matches(server) && names.some((one) => this.#name.matches(one));
    }
    if (names.some((one) => this.#name.matches(flat(server) + one))) return true;
    if (as !== undefined && this.#name.matches(as)) return true;
    return kind !== 'resource' && this.#matchesExposed(server, name);
  }

  /** As clients see it; one that ends in a hash also where another tool has taken the first of these names. */
  #matchesExposed(server: string, name: string): boolean {
    if (!this.#name.mayBegin(flat(server))) return false;
    if (this.#name.matches(prefixedName(server, name))) return true;
    return (
      hashEnd.test(this.text) &&
      attempts.some((attempt) => this.#name.matches(hashedName(server, name, attempt)))
    );
  }

  /** Whether an entry of `allow` matches this reading of an address: see address-readings.ts. */
  allowsReading(server: string, at: number, reading: string): boolean {
    return this.#isOf(server) && (this.#address?.matchesReading(at, reading) ?? false);
  }

  /** Whether an entry of `deny` matches one of the readings of an address. */
  deniesAddress(server: string, readings: AddressReadings): boolean {
    return this.#isOf(server) && (this.#address?.matchesAny(readings) ?? false);
  }

  /** Without a server in it, one that is about resources is about those of all. */
  #isOf(server: string): boolean {
    return this.#server === undefined || this.#server.matches(server);
  }

  /** Whether it matches anything that this server could have. */
  touches(kind: PatternKind, server: string): boolean {
    if (!this.#isAbout(kind)) return false;
    if (this.#server === undefined) {
      const isAliased = () => this.#aliases.ofServer(server).some((as) => this.#name.matches(as));
      return this.#name.mayBegin(flat(server)) || (kind === 'tool' && isAliased());
    }
    return this.#server.matches(server);
  }

  /** Whether it matches everything that this server could have. */
  covers(kind: PatternKind, server: string): boolean {
    if (!this.#isAbout(kind)) return false;
    if (this.#server === undefined) return this.#name.matchesAllOf(flat(server));
    return this.#server.matches(server) && this.#name.matchesAllOf('');
  }

  #isAbout(kind: PatternKind): boolean {
    return this.#kind === undefined || this.#kind === kind;
  }
}

/** The attempts of `hashedName` that are compared: more than three names with the same hash do not occur by chance. */
const attempts = [0, 1, 2] as const;
const hashEnd = /_[0-9a-f]{10}$/;

/** The slash that ends the server; less than 0: two underscores do, or nothing. */
function slashIn(kind: PatternKind, rest: string): number {
  const slash = rest.indexOf('/');
  const isFlat = kind !== 'resource' && rest.slice(0, Math.max(slash, 0)).includes(flatSeparator);
  return isFlat ? -1 : slash;
}

function flat(server: string): string {
  return `${server}${flatSeparator}`;
}

function partsOf(text: string): { readonly kind: PatternKind; readonly rest: string } {
  if (text.startsWith('prompt:')) return { kind: 'prompt', rest: text.slice(7) };
  if (text.startsWith('resource:')) return { kind: 'resource', rest: text.slice(9) };
  return { kind: 'tool', rest: text };
}

/** Why a text of the config is no pattern, in words that follow "is"; undefined if it is one. */
export function patternProblem(text: string): string | undefined {
  if (text.trim() === '') return 'blank: name a tool, such as "server/tool", or remove it';
  if (text !== text.trim()) return 'surrounded by spaces, which would match nothing: remove them';
  const { kind, rest } = partsOf(text);
  const slash = slashIn(kind, rest);
  const [server, name] =
    slash < 0 ? [undefined, rest] : [rest.slice(0, slash), rest.slice(slash + 1)];
  if (server === '' || name === '') return `incomplete: ${forms}`;
  const isFlat = server === undefined;
  if (isFlat && kind === 'resource' && rest !== '*') return `incomplete: ${forms}`;
  if (isFlat && !rest.includes('*') && !rest.includes(flatSeparator)) {
    return `not complete: ${forms}; everything of a server is "${rest}/*"`;
  }
  return undefined;
}

const forms =
  'write "server/tool", "server__tool", "prompt:server/name", "resource:server/uri", or "*" for everything';
