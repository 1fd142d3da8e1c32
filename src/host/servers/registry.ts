// Which servers there are, by name. A name belongs to one server until that one has ended: whoever
// comes for it meanwhile waits. Asking for a name that is not there says what is wrong with it, and
// which name was probably meant.

import { nearestNames } from '../../catalog/nearest-names.ts';
import { addFirstServer } from '../../config/no-servers.ts';
import type { ServerConfig } from '../../config/schema.ts';
import { Fault } from '../../kernel/fault.ts';
import type { ConnectionSlot } from '../connections/connection-slot.ts';
import { containedEdges } from './contained-edges.ts';
import { Server, type ServerParts } from './server.ts';

export interface RegistryParts {
  readonly server: ServerParts;
  /** Named in messages. */
  readonly configFile: string | null;
  /** Servers that the config names but that cannot be run, with the cause. */
  readonly disabled: ReadonlyMap<string, string>;
}

export class Registry {
  readonly #parts: RegistryParts;
  /** Those of the config, and those that were added, until they are removed. */
  readonly #servers = new Map<string, Server>();
  #all: readonly Server[] | undefined;
  /** Of those that were removed. */
  #startsAgain = 0;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  /** In the order of registration. */
  all(): readonly Server[] {
    this.#all ??= [...this.#servers.values()];
    return this.#all;
  }

  /** The connections of each server. */
  *slots(): Iterable<Iterable<ConnectionSlot>> {
    for (const server of this.#servers.values()) yield server.slots.all();
  }

  /** How often servers were started again, since there is a registry. */
  get startsAgain(): number {
    return this.all().reduce((sum, server) => sum + server.startsAgain, this.#startsAgain);
  }

  byName(): readonly Server[] {
    return [...this.#servers.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(name: string): Server | undefined {
    return this.#servers.get(name);
  }

  /** The name must be free. */
  add(name: string, config: ServerConfig): Server {
    const server = new Server(name, config, this.#partsOf(name));
    this.#servers.set(name, server);
    this.#all = undefined;
    this.#parts.server.events.emit({ kind: 'registered', server: name, lazy: config.lazy });
    if (!config.lazy) server.slots.pin(true);
    return server;
  }

  /** An error that nobody expected stays with the server whose it is. */
  #partsOf(name: string): ServerParts {
    const { server } = this.#parts;
    return { ...server, ...containedEdges(server, server.events.defects, name) };
  }

  /** Ends the server; only then its name is free. */
  async remove(server: Server): Promise<void> {
    const { name } = server;
    await server.slots.endAll();
    if (this.#servers.get(name) !== server) return;
    this.#servers.delete(name);
    this.#startsAgain += server.startsAgain;
    this.#all = undefined;
    this.#parts.server.events.emit({ kind: 'removed', server: name });
  }

  /**
   * Gives the name to a new server once the old one has ended. Nothing may wait between finding the
   * name free and taking it: two who replace the same name would both find it free.
   */
  async replace(name: string, config: ServerConfig, assertOpen: () => void): Promise<Server> {
    for (let old = this.get(name); old; old = this.get(name)) await this.remove(old);
    assertOpen();
    return this.add(name, config);
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(({ slots }) => slots.endAll()));
  }

  /** The server of this name, for a call; throws `not_found`, or why it cannot be used. */
  find(name: string): Server {
    const server = this.#servers.get(name);
    if (server) return server;
    const cause = this.#parts.disabled.get(name);
    if (cause !== undefined) {
      throw new Fault('invalid_request', `${name} is disabled: ${cause}`, { server: name });
    }
    const place = this.#parts.configFile ?? 'the config';
    throw this.#notFound(name, `is registered in ${place}`);
  }

  /** The server of this name, for an operator. */
  hosted(name: string): Server {
    const server = this.#servers.get(name);
    if (server) return server;
    throw this.#notFound(name, 'is hosted');
  }

  #notFound(name: string, what: string): Fault {
    const detail = `no server named '${name}' ${what}${this.#closest(name)}`;
    return new Fault('not_found', detail, { server: name });
  }

  #closest(name: string): string {
    const { disabled, configFile } = this.#parts;
    const all = [...this.#servers.keys(), ...disabled.keys()];
    const shown = (one: string) => (disabled.has(one) ? `${one} (disabled)` : one);
    const known = nearestNames(name, all);
    if (known.length > 0) return `; did you mean ${known.map(shown).join(' or ')}?`;
    if (all.length === 0) return `; there are no servers${configFile ? `: ${addFirstServer}` : ''}`;
    return `; there are: ${all.sort().map(shown).join(', ')}`;
  }
}
