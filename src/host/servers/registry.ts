// The servers by name and in order: those of the config in its order, then those that were added by
// a program. Servers are added and removed while the host runs. For an unknown name the error says
// what is wrong with it, and which name was probably meant.

import { nearestNames } from '../../catalog/nearest-names.ts';
import { addFirstServer } from '../../config/no-servers.ts';
import type { ServerConfig } from '../../config/schema.ts';
import { Fault } from '../../kernel/fault.ts';
import type { ConnectionSlot } from '../connections/connection-slot.ts';
import type { HostNews, ServersChange } from '../host-news.ts';
import { containedEdges } from './contained-edges.ts';
import { Server } from './server.ts';
import type { ServerParts } from './server-parts.ts';

export interface RegistryParts {
  readonly server: ServerParts;
  /** Named in messages. */
  readonly configFile: string | null;
  /** Servers that the config names but that cannot be run, with the cause. */
  readonly disabled: ReadonlyMap<string, string>;
  readonly news: Pick<HostNews, 'serversChanged'>;
  /** The removed server has ended completely, and its name is free. */
  readonly ended: (name: string) => void;
}

/** How the servers of one config become those of another. */
export interface RegistryChange {
  readonly removed: readonly string[];
  readonly added: readonly (readonly [name: string, config: ServerConfig])[];
  readonly replaced: readonly Server[];
  /** The names of the config, in its order. */
  readonly order: readonly string[];
  readonly disabled: ReadonlyMap<string, string>;
}

const noChange: ServersChange = { added: [], removed: [], replaced: [], isReordered: false };

export class Registry {
  readonly #parts: RegistryParts;
  /** Those of the config, and those that were added, until they are removed. */
  readonly #servers = new Map<string, Server>();
  /** Of connections that were handed over and are not used, by name, until they have ended: not more than came along. */
  readonly #handedEnding = new Map<string, Promise<void>>();
  /** Those that were taken out, until they have ended. */
  readonly #leaving = new Map<Server, Promise<void>>();
  /** Places of the names of the config; those that are not in it come after them. */
  #order: ReadonlyMap<string, number> = new Map();
  #disabled: ReadonlyMap<string, string>;
  #all: readonly Server[] | undefined;
  /** How often servers were restarted that were removed. */
  startsAgainOfRemoved = 0;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
    this.#disabled = parts.disabled;
  }

  /** In the order of the config; then in that of registration. */
  all(): readonly Server[] {
    const place = ({ name }: Server) => this.#order.get(name) ?? Number.POSITIVE_INFINITY;
    this.#all ??= [...this.#servers.values()].sort((a, b) => compare(place(a), place(b)));
    return this.#all;
  }

  /** Servers that the config names but that cannot be run, with the cause. */
  get disabled(): ReadonlyMap<string, string> {
    return this.#disabled;
  }

  /** The connections of each server. */
  *slots(): Iterable<Iterable<ConnectionSlot>> {
    for (const server of this.#servers.values()) yield server.slots.all();
  }

  /** How often servers were restarted since the registry was created. */
  get startsAgain(): number {
    return [...this.#servers.values(), ...this.#leaving.keys()].reduce(
      (sum, server) => sum + server.startsAgain,
      this.startsAgainOfRemoved,
    );
  }

  byName(): readonly Server[] {
    return [...this.#servers.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(name: string): Server | undefined {
    return this.#servers.get(name);
  }

  /** The same, also one that was removed and whose calls are still ending. */
  known(name: string): Server | undefined {
    const server = this.#servers.get(name);
    if (server) return server;
    for (const leaving of this.#leaving.keys()) if (leaving.name === name) return leaving;
    return undefined;
  }

  /** The name must be free. */
  add(name: string, config: ServerConfig): Server {
    const server = this.#enter(name, config);
    this.#parts.news.serversChanged({ ...noChange, added: [server] });
    return server;
  }

  #enter(name: string, config: ServerConfig): Server {
    const server = new Server(name, config, this.#partsOf(name));
    this.#servers.set(name, server);
    const ending = this.#handedEnding.get(name);
    if (ending !== undefined) server.waitFor(ending);
    this.#all = undefined;
    this.#parts.server.events.emit({ kind: 'registered', server: name, lazy: config.lazy });
    if (!config.lazy) server.slots.pin(true);
    return server;
  }

  /**
   * Adds and removes servers in one step and reports it in one notification. A server that cannot
   * be created is disabled with the cause. The result is those that were created.
   */
  change({ removed, added, replaced, order, disabled }: RegistryChange): readonly Server[] {
    const before = this.all();
    const causes = new Map(disabled);
    const gone = removed.flatMap((name) => this.#takeOut(name) ?? []);
    const made = added.flatMap(([name, config]) => {
      try {
        return [this.#enter(name, config)];
      } catch (error) {
        causes.set(name, this.#caught(error, name).message);
        return [];
      }
    });
    this.#disabled = causes;
    this.#order = new Map(order.map((name, place) => [name, place]));
    this.#all = undefined;
    const isReordered = inOtherOrder(before, this.all());
    const isNews = isReordered || [gone, made, replaced].some(({ length }) => length > 0);
    if (isNews) {
      this.#parts.news.serversChanged({ added: made, removed: gone, replaced, isReordered });
    }
    return made;
  }

  /**
   * A connection that was handed over under this name is not used and is being ended: the server of this name is not
   * started before, also if a config brings it only then.
   */
  endsHanded(name: string, ended: Promise<void>): void {
    this.#servers.get(name)?.waitFor(ended);
    const all = Promise.all([this.#handedEnding.get(name), ended]).then(() => {
      if (this.#handedEnding.get(name) === all) this.#handedEnding.delete(name);
    });
    this.#handedEnding.set(name, all);
  }

  /** It gets no new calls; running ones may end. */
  #takeOut(name: string): Server | undefined {
    const server = this.#servers.get(name);
    if (!server) return undefined;
    this.#drop(server);
    const caught = (error: unknown) => void this.#caught(error, name);
    const ended = server.remove().catch(caught);
    this.#leaving.set(
      server,
      ended.then(() => {
        this.#leaving.delete(server);
        this.#ended(server);
      }),
    );
    return server;
  }

  #caught(error: unknown, name: string): Fault {
    return this.#parts.server.events.defects.caught('a changed config', error, name);
  }

  #leavingAs(name: string): Promise<void> | undefined {
    for (const [server, ended] of this.#leaving) if (server.name === name) return ended;
    return undefined;
  }

  /** Resolves when everything that was taken out has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#leaving.values());
  }

  #drop(server: Server): void {
    this.#servers.delete(server.name);
    this.#all = undefined;
  }

  #ended(server: Server): void {
    const { name } = server;
    this.startsAgainOfRemoved += server.startsAgain;
    this.#parts.server.events.emit({ kind: 'removed', server: name });
    if (this.#servers.has(name)) return;
    this.#parts.ended(name);
  }

  /** An unexpected error affects only its server. */
  #partsOf(name: string): ServerParts {
    const { server } = this.#parts;
    return { ...server, ...containedEdges(server, server.events.defects, name) };
  }

  /** Ends the server; only then its name is free. */
  async remove(server: Server): Promise<void> {
    const { name } = server;
    await server.slots.endAll();
    if (this.#servers.get(name) !== server) return;
    this.#drop(server);
    this.#parts.news.serversChanged({ ...noChange, removed: [server] });
    this.#ended(server);
  }

  /**
   * Gives the name to a new server once the old one has ended. Nothing may wait between finding the
   * name free and taking it: two who replace the same name would both find it free.
   */
  async replace(name: string, config: ServerConfig, assertOpen: () => void): Promise<Server> {
    for (;;) {
      const old = this.get(name);
      const leaving = old ? this.remove(old) : this.#leavingAs(name);
      if (!leaving) break;
      await leaving;
    }
    assertOpen();
    return this.add(name, config);
  }

  async endAll(): Promise<void> {
    const all = [...this.#servers.values(), ...this.#leaving.keys()];
    await Promise.all(all.map(({ slots }) => slots.endAll()));
  }

  /** The server of this name, for a call; throws `not_found`, or why it cannot be used. `isShown`: which names may be told. */
  find(name: string, isShown: IsShown): Server {
    const server = this.#servers.get(name);
    if (server) return server;
    this.#refuseDisabled(name);
    const place = this.#parts.configFile ?? 'the config';
    throw this.#notFound(name, `is registered in ${place}`, isShown);
  }

  #refuseDisabled(name: string): void {
    const cause = this.#disabled.get(name);
    if (cause === undefined) return;
    throw new Fault('invalid_request', `${name} is disabled: ${cause}`, { server: name });
  }

  /** The server of this name, for an operator. Throws as `find` does. */
  hosted(name: string, isShown: IsShown): Server {
    const server = this.#servers.get(name);
    if (server) return server;
    this.#refuseDisabled(name);
    throw this.#notFound(name, 'is registered', isShown);
  }

  #notFound(name: string, what: string, isShown: IsShown): Fault {
    const detail = `no server named '${name}' ${what}${this.#closest(name, isShown)}`;
    return new Fault('not_found', detail, { server: name });
  }

  #closest(name: string, isShown: IsShown): string {
    const { configFile } = this.#parts;
    const disabled = this.#disabled;
    const all = [...this.#servers.keys(), ...disabled.keys()].filter(isShown);
    const shown = (one: string) => (disabled.has(one) ? `${one} (disabled)` : one);
    const known = nearestNames(name, all);
    if (known.length > 0) return `; did you mean ${known.map(shown).join(' or ')}?`;
    if (all.length === 0) return `; there are no servers${configFile ? `: ${addFirstServer}` : ''}`;
    return `; there are: ${all.sort().map(shown).join(', ')}`;
  }
}

type IsShown = (server: string) => boolean;

/** Are those that are in both in another order? */
function inOtherOrder(before: readonly Server[], after: readonly Server[]): boolean {
  const [old, next] = [new Set(before), new Set(after)];
  const stay = after.filter((server) => old.has(server));
  return before.filter((server) => next.has(server)).some((server, at) => server !== stay[at]);
}

/** Places may be infinite: equal ones stay as they are. */
function compare(a: number, b: number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
