// The rules about what the host knows and keeps of each server: that it holds a server as long as
// anybody needs it, starts it for nobody, never sleeps while someone waits, and knows of a process
// only what it has read from that process. Read from the state that `status` is made from.

import type { Config } from '../../src/config/schema.ts';
import type { Host } from '../../src/host/host.ts';
import type { Server } from '../../src/host/server.ts';
import type { HostEvent } from '../../src/observe/events.ts';
import type { Violated } from './call-rules.ts';
import type { ServedCall } from './ledger.ts';

/** A call on a connection that was retired goes on by itself: for so long nobody else is needed. */
const retiredMs = 60_000;
/** A reload waits until what it ended is gone, and those who wait for the server wait with it. */
const reloadMs = 15_000;

export class ServerRules {
  readonly #config: Config;
  readonly #violated: Violated;
  readonly #servers = new Map<string, Server>();
  readonly #asleepSince = new Map<Server, number>();
  /** The newest definition of a server's tools that was ever listed. */
  readonly #definitions = new Map<string, number>();
  #host: Host | undefined;

  constructor(config: Config, violated: Violated) {
    this.#config = config;
    this.#violated = violated;
  }

  meet(host: Host): void {
    this.#host = host;
    this.#refresh();
  }

  /** The server of this name, if one is registered now. */
  server(name: string): Server | undefined {
    const known = this.#servers.get(name);
    if (known) return known;
    try {
      const server = this.#host?.find(name);
      if (server) this.#servers.set(name, server);
      return server;
    } catch {
      return undefined; // not registered at the moment, or the host is closing
    }
  }

  #refresh(): void {
    this.#servers.clear();
    for (const name of Object.keys(this.#config.mcpServers)) this.server(name);
  }

  // --- what the host tells -----------------------------------------------------------------

  heard(event: HostEvent): void {
    switch (event.kind) {
      case 'registered':
        this.#servers.delete(event.server);
        this.#definitions.delete(event.server);
        return void this.server(event.server);
      case 'removed':
        return this.#refresh();
      case 'starting':
        return this.#judgeStart(event.server);
      case 'stopping':
        return event.reason === 'idle' ? this.#judgeUnused(event.server) : undefined;
      case 'tools':
        return this.#judgeList(event.server);
      case 'call':
        return this.#judgeHolds(event.server);
    }
  }

  #judgeStart(name: string): void {
    if (this.server(name)?.supervisor.leases.isWanted === false) {
      this.#violated('lazy', `${name} is started although nobody needs it`);
    }
  }

  #judgeUnused(name: string): void {
    if (this.server(name)?.supervisor.leases.isWanted) {
      this.#violated('leases', `${name} is stopped as unused while somebody holds it`);
    }
  }

  #judgeHolds(name: string): void {
    const { held = 0, owners = [] } = this.server(name)?.supervisor.leases ?? {};
    if (held >= owners.length) return;
    this.#violated('leases', `${name} has ${held} holds, but ${owners.length} owners`);
  }

  // --- what is known of its tools ----------------------------------------------------------

  /** Definitions only ever go up, so a list that goes down was read on an old connection. */
  #judgeList(name: string): void {
    const server = this.server(name);
    if (!server) return;
    const known = knownDefinition(server);
    if (known < (this.#definitions.get(name) ?? 0)) {
      this.#violated('generations', `${name}: the list of an old connection replaced a newer one`);
    }
    this.#definitions.set(name, known);
  }

  /** What is known of the tools of a process was read from that process. */
  received({ server: name, pid, definition }: ServedCall): void {
    const server = this.server(name);
    if (!server || server.supervisor.connection?.pid !== pid) return;
    const known = knownDefinition(server);
    if (known === 0 || known === definition) return;
    this.#violated(
      'generations',
      `${name}: definition ${known} is known of ${pid}, which has ${definition}`,
    );
  }

  // --- at every step, and at the end -------------------------------------------------------

  settled(now: number): void {
    for (const server of this.#servers.values()) {
      const { supervisor } = server;
      const isAsleep = supervisor.phase.kind === 'idle' && supervisor.leases.held > 0;
      if (isAsleep) this.#judgeAsleep(server, now);
      else if (this.#asleepSince.size > 0) this.#asleepSince.delete(server);
    }
  }

  /** Who only holds a lease may find it stopped; who waits for an answer may not. */
  #judgeAsleep(server: Server, now: number): void {
    const { held, owners } = server.supervisor.leases;
    if (held === owners.length) return void this.#asleepSince.delete(server);
    const since = this.#asleepSince.get(server) ?? now;
    this.#asleepSince.set(server, since);
    if (now - since < (server.config.type === 'stdio' ? reloadMs : retiredMs)) return;
    this.#violated('one-answer', `${server.name} is asleep while ${held} wait for it`);
    this.#asleepSince.set(server, Infinity);
  }

  closed(): void {
    for (const [name, { supervisor, admission }] of this.#servers) {
      const { held, owners } = supervisor.leases;
      const counts = [held - owners.length, admission.inside, admission.queued];
      if (counts.every((count) => count === 0)) continue;
      this.#violated('leases', `${name}: holds, calls, queued are ${counts} after the end`);
    }
  }
}

/** As the simulated servers say it in their descriptions; 0 while nothing is known. */
function knownDefinition(server: Server): number {
  return Number(server.catalogue.find('read')?.tool.description?.split(' ')[1] ?? 0);
}
