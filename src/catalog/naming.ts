// The names of tools, and in the same way of prompts, for clients of the gateway, and the server
// that each name belongs to. In prefix mode every name is `server__tool` and none is refused; in
// transparent mode the servers' own names are used, and a server that comes later with a name that
// is taken, or that looks like another server's, is refused and reported. An exposed name is looked
// up in the map that is stored here, never split. An assigned name stays with its owner as long as
// the owner offers it, whichever server asks for it: a call must not go to another server because
// that server changed its list. All other names are assigned in the order of the configuration, and
// each server is finished before the next: adding one at the end changes no name before it. Within
// a server the order of its list does not count, so that a list may come in any order.

import { fits, hashedName, prefixedName, prefixOf } from '../kernel/prefixed-name.ts';
import { skeleton } from './look-alike.ts';

export type NamingMode = 'prefix' | 'transparent';

export interface Nameable {
  readonly name: string;
  /** The operator's own exposed name (`tools.X.as`). */
  readonly as?: string | null;
}

export interface Offering {
  readonly server: string;
  readonly items: readonly Nameable[];
  /** False while its list is not known: its earlier names are reserved for it meanwhile. */
  readonly isListed?: boolean;
}

export interface Owner {
  readonly server: string;
  readonly name: string;
}

/**
 * A server that did not get the name it asked for, and the owner of that name; null is the gateway
 * itself.
 */
export interface NameRefusal extends Owner {
  readonly kind: 'collision' | 'look_alike';
  readonly wanted: string;
  readonly owner: Owner | null;
}

export interface Displacement extends NameRefusal {
  /** The name it has instead. */
  readonly exposed: string;
}

export interface Names {
  /** Undefined: not offered, or refused. */
  exposed(server: string, name: string): string | undefined;
  /**
   * An exposed name, or else a server's own name if exactly one server has it; `mayUse` counts only
   * the servers that the caller may see.
   */
  resolve(exposed: string, mayUse?: (owner: Owner) => boolean): Owner | undefined;
  /** Those that have no exposed name at all. */
  readonly refused: readonly NameRefusal[];
  /** Those whose name differs from the one that the operator or the rule asks for. */
  readonly displaced: readonly Displacement[];
  /** Those whose exposed name looks like another server's. In transparent mode they are refused. */
  readonly alike: readonly Displacement[];
  /** All exposed names: to be passed to the next computation. */
  readonly given: ReadonlyMap<string, Owner>;
}

const nothingGiven: ReadonlyMap<string, Owner> = new Map();

/**
 * Offerings come in the order of the configuration; those of servers without a list are empty.
 * `given` are the exposed names of the previous computation.
 */
export function nameAll(
  offerings: readonly Offering[],
  mode: NamingMode,
  reserved: ReadonlySet<string>,
  given: ReadonlyMap<string, Owner> = nothingGiven,
): Names {
  const book = new NameBook(mode, reserved);
  const unlisted = offerings.filter(({ isListed }) => isListed === false);
  const absent = new Set(unlisted.map(({ server }) => server));
  for (const [name, owner] of given) if (absent.has(owner.server)) book.reserve(name, owner);
  for (const { server, items } of offerings) {
    const isOwner = (item: Nameable) => {
      const owner = given.get(wantedName(mode, server, item));
      return owner?.server === server && owner.name === item.name;
    };
    book.enter(server, items.filter(isOwner));
  }
  for (const { server, items } of offerings) book.enter(server, items);
  return book;
}

/** The name it has if no other server asks for it. */
function wantedName(mode: NamingMode, server: string, { name, as }: Nameable): string {
  return as || (mode === 'transparent' ? name : prefixedName(server, name));
}

/**
 * Whether another server, or another tool of the same one, can ask for this name. Most prefixed
 * names are safe.
 */
export function isContestable(mode: NamingMode, exposed: string, { server, name }: Owner): boolean {
  if (mode === 'transparent') return true;
  const isPlain = exposed === prefixedName(server, name) && fits(server, name);
  return !isPlain || exposed.split('__').length > 2;
}

interface Holder {
  /** Undefined: the name is reserved for the gateway. */
  readonly server: string | undefined;
  readonly owner: Owner | null;
}

class NameBook implements Names {
  readonly refused: NameRefusal[] = [];
  readonly displaced: Displacement[] = [];
  readonly #mode: NamingMode;
  readonly #reserved: ReadonlySet<string>;
  /** By exposed name: at most one for each definition, as are those below, until a list changes. */
  readonly #owners = new Map<string, Owner>();
  /** By server and own name; at most one for each definition. */
  readonly #exposed = new Map<string, Map<string, string>>();
  /** By the servers' own names, exposed or refused; one for each definition. */
  readonly #bare = new Map<string, Owner[]>();
  /**
   * The first server with a name of this skeleton; at most one for each definition. Only in
   * transparent mode.
   */
  readonly #skeletons = new Map<string, Holder>();

  constructor(mode: NamingMode, reserved: ReadonlySet<string>) {
    this.#mode = mode;
    this.#reserved = reserved;
    if (mode === 'prefix') return;
    for (const name of reserved) {
      this.#skeletons.set(skeleton(name), { server: undefined, owner: null });
    }
  }

  enter(server: string, items: readonly Nameable[]): void {
    const names = this.#exposed.get(server) ?? new Map<string, string>();
    this.#exposed.set(server, names);
    for (const { name, as } of inOrderOfClaim(server, items)) {
      const owner: Owner = { server, name };
      const namesakes = this.#bare.get(name) ?? [];
      if (namesakes.some((other) => other.server === server)) continue;
      namesakes.push(owner);
      this.#bare.set(name, namesakes);
      const exposed = this.#nameFor(owner, as);
      if (exposed === undefined) continue;
      names.set(name, exposed);
      this.#owners.set(exposed, owner);
    }
  }

  /** Reserves a name for an owner whose list is not known yet; calls still go there. */
  reserve(exposed: string, owner: Owner): void {
    if (this.#isTaken(exposed)) return;
    const names = this.#exposed.get(owner.server) ?? new Map<string, string>();
    this.#exposed.set(owner.server, names);
    names.set(owner.name, exposed);
    this.#owners.set(exposed, owner);
    const shape = skeleton(exposed);
    if (this.#mode === 'transparent' && !this.#skeletons.has(shape)) {
      this.#skeletons.set(shape, { server: owner.server, owner });
    }
  }

  get given(): ReadonlyMap<string, Owner> {
    return this.#owners;
  }

  /** Computed on demand: a list does not need it. */
  get alike(): readonly Displacement[] {
    if (this.#mode === 'transparent') return [];
    const first = new Map<string, Owner | null>();
    for (const name of this.#reserved) first.set(skeleton(name), null);
    const found: Displacement[] = [];
    for (const [exposed, owner] of this.#owners) {
      const shape = skeleton(exposed);
      const other = first.get(shape);
      if (other === undefined) first.set(shape, owner);
      else if (other?.server !== owner.server) {
        found.push({ kind: 'look_alike', ...owner, wanted: exposed, owner: other, exposed });
      }
    }
    return found;
  }

  exposed(server: string, name: string): string | undefined {
    return this.#exposed.get(server)?.get(name);
  }

  resolve(exposed: string, mayUse?: (owner: Owner) => boolean): Owner | undefined {
    const owner = this.#owners.get(exposed);
    if (owner !== undefined) return owner;
    if (this.#reserved.has(exposed)) return undefined;
    const all = this.#bare.get(exposed) ?? [];
    const candidates = mayUse === undefined ? all : all.filter(mayUse);
    const only = candidates.length === 1 ? candidates[0] : undefined;
    if (only === undefined || this.exposed(only.server, only.name) === undefined) return undefined;
    return this.#isForAnother(exposed, only.server) ? undefined : only;
  }

  /**
   * `a__x` is a tool of the server a, also while a's list is not known: a tool of another server
   * with this name must not receive its calls.
   */
  #isForAnother(bare: string, server: string): boolean {
    if (this.#mode === 'transparent') return false;
    for (const other of this.#exposed.keys()) {
      if (other !== server && bare.startsWith(prefixOf(other))) return true;
    }
    return false;
  }

  #nameFor(owner: Owner, as: string | null | undefined): string | undefined {
    return this.#mode === 'transparent'
      ? this.#transparentName(owner, as || owner.name)
      : this.#prefixedName(owner, as || undefined);
  }

  #transparentName(owner: Owner, wanted: string): string | undefined {
    const shape = skeleton(wanted);
    const first = this.#skeletons.get(shape);
    if (first === undefined) {
      this.#skeletons.set(shape, { server: owner.server, owner });
      return wanted;
    }
    if (this.#isTaken(wanted)) {
      this.refused.push(this.#collision(owner, wanted));
      return undefined;
    }
    if (first.server === owner.server) return wanted;
    this.refused.push({ kind: 'look_alike', ...owner, wanted, owner: first.owner });
    return undefined;
  }

  #prefixedName(owner: Owner, as: string | undefined): string {
    const { server, name } = owner;
    if (as !== undefined && !this.#isTaken(as)) return as;
    let exposed = prefixedName(server, name);
    const wanted = as ?? exposed;
    for (let attempt = 0; this.#isTaken(exposed); attempt += 1) {
      exposed = hashedName(server, name, attempt);
    }
    if (exposed !== wanted) {
      this.displaced.push({ ...this.#collision(owner, wanted), exposed });
    }
    return exposed;
  }

  #isTaken(exposed: string): boolean {
    return this.#owners.has(exposed) || this.#reserved.has(exposed);
  }

  #collision(loser: Owner, wanted: string): NameRefusal {
    return { kind: 'collision', ...loser, wanted, owner: this.#owners.get(wanted) ?? null };
  }
}

/**
 * The operator's names first, then names that can stay unchanged, then those that must be changed;
 * within each in alphabetical order. This matters only for names that are made to collide.
 */
function inOrderOfClaim(server: string, items: readonly Nameable[]): readonly Nameable[] {
  const rank = ({ name, as }: Nameable) => {
    if (as) return 0;
    return fits(server, name) ? 1 : 2;
  };
  return items
    .map((item) => ({ item, rank: rank(item) }))
    .sort((a, b) => a.rank - b.rank || compare(a.item.name, b.item.name))
    .map(({ item }) => item);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
