// From a name that a client says to the server and the name that is meant. The table is worked out
// from what all servers list, and again when one of those lists has changed. A name that is not in it
// may belong to a server that has not been asked yet, so those are asked before it is unknown.

import { type Names, type NamingMode, nameAll } from '../catalog/naming.ts';
import { prefixOf } from '../catalog/prefixed-name.ts';
import type { Caller } from '../host/caller.ts';
import type { Host } from '../host/host.ts';
import type { Server } from '../host/server.ts';
import { operationKey } from '../host-tools/traffic.ts';
import { Fault } from '../kernel/fault.ts';
import { ownValue } from '../kernel/own-value.ts';
import { isAllowed } from '../policy/guard.ts';
import type { Principal } from '../policy/principal.ts';
import type { MemberChanges } from '../wire/member-edits.ts';

export interface Route {
  readonly server: string;
  readonly kind: 'tool' | 'prompt';
  readonly name: string;
  readonly operationKey: string;
  readonly changes?: MemberChanges;
}

export interface NameTableParts {
  readonly host: Host;
  readonly kind: 'tool' | 'prompt';
  readonly mode: NamingMode;
  readonly reserved: ReadonlySet<string>;
  /** Asks servers for their list: those that were never asked, and one that a name points to. */
  readonly learn: (caller: Caller, isCandidate: (server: Server) => boolean) => Promise<void>;
}

const lists = { tool: 'tools', prompt: 'prompts' } as const;

export class NameTable {
  readonly #parts: NameTableParts;
  readonly #routes = new Map<string, Route | undefined>();
  #names: Names | undefined;

  constructor(parts: NameTableParts) {
    this.#parts = parts;
  }

  changed(): void {
    this.#names = undefined;
    this.#routes.clear();
  }

  /** What clients call it; undefined if it was refused. */
  exposed({
    server,
    name,
  }: {
    readonly server: string;
    readonly name: string;
  }): string | undefined {
    return this.names.exposed(server, name);
  }

  /** As far as is known now. */
  route(exposed: string, principal: Principal): Route | undefined {
    const { host, kind } = this.#parts;
    const route = this.#routes.get(exposed) ?? this.#look(exposed, principal);
    if (!route || !isAllowed(host.guard, principal, route.server, route.name, kind))
      return undefined;
    return route;
  }

  /** The same, after asking the servers whose list is not known, or not any more. */
  async find(exposed: string, caller: Caller): Promise<Route | undefined> {
    const { principal } = caller;
    const known = this.route(exposed, principal);
    if (known) return known;
    const { learn } = this.#parts;
    await learn(caller, ({ name }) => exposed.startsWith(prefixOf(name)));
    return this.route(exposed, principal);
  }

  /** Why a name may be unknown only for now: the server of its prefix could not be asked what it has. */
  unread(exposed: string, principal: Principal): Fault | undefined {
    const { host, kind, mode } = this.#parts;
    if (mode !== 'prefix') return undefined;
    const server = host
      .servers()
      .filter(({ name }) => exposed.startsWith(prefixOf(name)))
      .find(({ offerings }) => offerings.definitions(lists[kind]) === undefined);
    if (!server || !isAllowed(host.guard, principal, server.name, null, kind)) return undefined;
    const { name, supervisor } = server;
    const cause = supervisor.lastFault ? ` (${supervisor.lastFault.fault.message})` : '';
    const message = `${name} could not be asked for its ${lists[kind]}${cause}; try again, or see: holdfast status ${name}`;
    return new Fault('unavailable', message, { server: name });
  }

  get names(): Names {
    const { host, kind, mode, reserved } = this.#parts;
    if (this.#names) return this.#names;
    const offerings = host.servers().map(({ name, offerings, config }) => ({
      server: name,
      items: (offerings.definitions(lists[kind]) ?? []).map(({ key }) => ({
        name: key,
        as: kind === 'tool' ? (ownValue(config.tools, key)?.as ?? null) : null,
      })),
    }));
    this.#names = nameAll(offerings, mode, reserved);
    return this.#names;
  }

  #look(exposed: string, principal: Principal): Route | undefined {
    const { host, kind } = this.#parts;
    const mayUse = ({ server, name }: { server: string; name: string }) =>
      isAllowed(host.guard, principal, server, name, kind);
    const owner = this.names.resolve(exposed, mayUse);
    if (!owner) return undefined;
    const { server, name } = owner;
    const method = kind === 'tool' ? 'tools/call' : 'prompts/get';
    const key = kind === 'tool' ? operationKey(method, server, name) : method;
    const changes = name === exposed ? {} : { changes: { name: JSON.stringify(name) } };
    const route: Route = { server, kind, name, operationKey: key, ...changes };
    // A bare name may lead elsewhere for somebody who sees other servers.
    if (this.names.exposed(server, name) === exposed) this.#routes.set(exposed, route);
    return route;
  }
}
