// Maps a client's name to the server and its own name. The table is computed from the lists of all
// servers that its clients may see, and again when one of those lists has changed; an assigned name stays with its owner,
// also after a restart. An unknown name may belong to a server that has not been asked yet, so
// those are asked first.

import { conflictsOf, type NameConflict } from '../../catalog/name-conflicts.ts';
import {
  isContestable,
  type Names,
  type NamingMode,
  nameAll,
  type Owner,
} from '../../catalog/naming.ts';
import type { Caller } from '../../host/connections/caller.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import type { Server } from '../../host/servers/server.ts';
import { Fault } from '../../kernel/fault.ts';
import { prefixOf } from '../../kernel/prefixed-name.ts';
import { type Asked, kindRequest } from '../../policy/access.ts';
import type { Principal } from '../../policy/principal.ts';
import type { MemberChanges } from '../../wire/member-edits.ts';
import type { GivenNames } from './given-names.ts';
import type { Sight } from './sight.ts';

export interface ToolRoute {
  readonly server: string;
  readonly kind: 'tool' | 'prompt';
  readonly name: string;
  readonly changes?: MemberChanges;
}

export interface NameTableParts {
  readonly host: HostForGateway;
  readonly sight: Sight;
  readonly kind: 'tool' | 'prompt';
  readonly mode: NamingMode;
  /** Where assigned names are stored across restarts; undefined: they are not. */
  readonly kept?: GivenNames | undefined;
  /** Names that are assigned already; those whose owner is not seen do not count. */
  readonly given?: ReadonlyMap<string, Owner> | undefined;
  /** The gateway's own names, as they are now. */
  readonly reserved: () => ReadonlySet<string>;
  /** Asks servers for their list: those that were never asked, and one that a name points to. */
  readonly learn: (caller: Caller, isCandidate: (server: Server) => boolean) => Promise<void>;
}

const lists = { tool: 'tools', prompt: 'prompts' } as const;
/** What a client that uses a name wants to do, unless it says otherwise. */
const usual: Readonly<Record<'tool' | 'prompt', Asked>> = {
  tool: { action: 'call', method: 'tools/call' },
  prompt: { action: 'get', method: 'prompts/get' },
};

export class NameTable {
  readonly #parts: NameTableParts;
  /** By exposed name, until a list changes; at most one for each name that is listed. */
  readonly #routes = new Map<string, ToolRoute | undefined>();
  /** Bound: the names that servers list, and those kept for servers that have not listed yet. */
  #given: ReadonlyMap<string, Owner> = new Map();
  #isRecalled = false;
  #names: Names | undefined;
  /** By server; at most what servers list. */
  #conflicts: ReadonlyMap<string, readonly NameConflict[]> | undefined;

  constructor(parts: NameTableParts) {
    this.#parts = parts;
    const { given } = parts;
    if (given === undefined || given.size === 0) return;
    const seen = this.#seenNames();
    this.#given = new Map([...given].filter(([, { server, name }]) => seen.get(server)?.has(name)));
  }

  /** By server. Each is decided once, not once for each assigned name. */
  #seenNames(): ReadonlyMap<string, ReadonlySet<string>> {
    const { sight, kind } = this.#parts;
    return new Map(
      sight.servers().map((server) => [server.name, new Set(sight.keys(server, lists[kind]))]),
    );
  }

  /** The names that are assigned now. */
  get given(): ReadonlyMap<string, Owner> {
    return this.names.given;
  }

  /** Stored assignments count more than what this run may have assigned in its first moments. */
  async recall(): Promise<void> {
    const kept = (await this.#parts.kept?.recall()) ?? new Map<string, Owner>();
    this.#given = new Map([...this.#given, ...kept]);
    this.#isRecalled = true;
    this.changed();
  }

  /** Tools or prompts that did not get their name. Asking changes nothing. */
  conflicts(): readonly NameConflict[] {
    return [...this.#conflictsByServer().values()].flat();
  }

  /** The same of one server. */
  conflictsOf(server: string): readonly NameConflict[] {
    return this.#conflictsByServer().get(server) ?? [];
  }

  #conflictsByServer(): ReadonlyMap<string, readonly NameConflict[]> {
    if (this.#conflicts) return this.#conflicts;
    const byServer = new Map<string, NameConflict[]>();
    for (const conflict of conflictsOf(this.#names ?? this.#nameAll(), this.#parts.kind)) {
      const known = byServer.get(conflict.server);
      if (known) known.push(conflict);
      else byServer.set(conflict.server, [conflict]);
    }
    this.#conflicts = byServer;
    return byServer;
  }

  changed(): void {
    this.#names = undefined;
    this.#conflicts = undefined;
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
  route(
    exposed: string,
    principal: Principal,
    asked: Asked = usual[this.#parts.kind],
  ): ToolRoute | undefined {
    const route = this.#routes.get(exposed) ?? this.#look(exposed, principal, asked);
    return route && this.#mayUse(route, principal, asked) ? route : undefined;
  }

  #mayUse({ server, name }: Owner, principal: Principal, { action, method }: Asked): boolean {
    const { host, kind } = this.#parts;
    return host.access.isAllowed(principal, { action, server, kind, name, method });
  }

  /** The same, after asking the servers whose list is not known, or not any more. */
  async find(
    exposed: string,
    caller: Caller,
    asked: Asked = usual[this.#parts.kind],
  ): Promise<ToolRoute | undefined> {
    const { principal } = caller;
    const known = this.route(exposed, principal, asked);
    if (known) return known;
    const { learn } = this.#parts;
    await learn(caller, ({ name }) => exposed.startsWith(prefixOf(name)));
    return this.route(exposed, principal, asked);
  }

  /** Why a name may be unknown only for now: the server of its prefix could not be asked. */
  unread(exposed: string, caller: Caller): Fault | undefined {
    const { host, kind, mode } = this.#parts;
    const { principal } = caller;
    // All are asked about first: the prefix of a hidden server must not take longer than any other text.
    const server = host
      .servers()
      .filter(({ name }) => host.access.isAllowed(principal, kindRequest('list', name, kind)))
      // Without prefixes it can belong to any server.
      .filter(({ name }) => mode !== 'prefix' || exposed.startsWith(prefixOf(name)))
      .find(({ offerings }) => {
        return offerings.definitions(lists[kind]) === undefined && offerings.mayHave(lists[kind]);
      });
    if (!server) return undefined;
    const { name, supervisor, slots } = server;
    const refusal = slots.refusalOf(caller);
    if (refusal) return mode === 'prefix' ? refusal : undefined;
    // Nothing will start it by itself: its own message says what to do.
    if (supervisor.isEjected) return supervisor.refusal('ejected');
    const cause = supervisor.lastFault ? ` (${supervisor.lastFault.fault.message})` : '';
    const retryable = supervisor.lastFault?.fault.record.retryable ?? true;
    // What refuses an orchestrator's tools refuses the call.
    if (server.isElsewhere && supervisor.lastFault) return supervisor.lastFault.fault;
    const look = server.isElsewhere ? [] : [`see: holdfast status ${name}`];
    const next = [...(retryable ? ['try again'] : []), ...look].join(', or ');
    const message = `${name} could not be asked for its ${lists[kind]}${cause}; ${next}`;
    return new Fault('unavailable', message, { server: name, retryable });
  }

  get names(): Names {
    if (this.#names) return this.#names;
    this.#names = this.#nameAll();
    this.#given = this.#names.given;
    if (this.#isRecalled) this.#keep();
    return this.#names;
  }

  #nameAll(): Names {
    const { sight, kind, mode, reserved } = this.#parts;
    const offerings = sight.servers().map((server) => {
      const keys = sight.keys(server, lists[kind]);
      const items = (keys ?? []).map((key) => ({
        name: key,
        as: kind === 'tool' ? (server.toolConfig(key)?.as ?? null) : null,
      }));
      return { server: server.name, items, isListed: keys !== undefined };
    });
    return nameAll(offerings, mode, reserved(), this.#given);
  }

  #keep(): void {
    const { mode, host, kind, kept } = this.#parts;
    if (kept === undefined) return;
    const contestable = [...this.#given].filter(([exposed, owner]) =>
      isContestable(mode, exposed, owner),
    );
    const shared = new Map(
      host.servers().map(({ name, offerings }) => [name, offerings.sharedKeys(lists[kind])]),
    );
    kept.keep(contestable, ({ server, name }) => shared.get(server)?.has(name) ?? false);
  }

  #look(exposed: string, principal: Principal, asked: Asked): ToolRoute | undefined {
    const { kind } = this.#parts;
    const owner = this.names.resolve(exposed, (one) => this.#mayUse(one, principal, asked));
    if (!owner) return undefined;
    const { server, name } = owner;
    const changes = name === exposed ? {} : { changes: { name: JSON.stringify(name) } };
    const route: ToolRoute = { server, kind, name, ...changes };
    // A name without a prefix may lead elsewhere for a client that sees other servers.
    if (this.names.exposed(server, name) === exposed) this.#routes.set(exposed, route);
    return route;
  }
}
