// The rules about what the host knows and keeps of each server: that it holds a server as long as
// anybody needs it, starts it for nobody, never sleeps while someone waits, and knows of a process
// only what it has read from that process. Noise alone never ends a process that still answers; a
// server's silence is never taken for a word about its era; and lists alone never spend its restart
// budget. Read from the state that `status` is made from.

import type { HostCore } from '../../src/host/host-core.ts';
import type { Server } from '../../src/host/servers/server.ts';
import type { HostEvent } from '../../src/observe/events.ts';
import type { Violated } from './call-rules.ts';
import type { CallRecord } from './calls.ts';
import { listedOnly } from './fleet.ts';
import type { ServedCall } from './ledger.ts';
import type { World } from './world.ts';

/** A call on a connection that was retired goes on by itself: for so long nobody else is needed. */
const retiredMs = 60_000;
/** A reload waits until what it ended is gone, and those who wait for the server wait with it. */
const reloadMs = 15_000;
/** A process that said something valid in this time is not ended for noise. */
const quietMs = 30_000;
/** What was printed is read by then, and its end is told. */
const readMs = 1_000;

export class ServerRules {
  readonly #violated: Violated;
  readonly #world: World;
  readonly #asleepSince = new Map<Server, number>();
  /** The newest definition of a server's tools that was ever listed. */
  readonly #definitions = new Map<string, number>();
  /** Leases that were given and not given back, by server. */
  readonly #leases = new Map<string, Set<object>>();
  /** The process of each server's present connection. */
  readonly #pids = new Map<string, number | null>();
  /** Processes whose end has begun, and the step in which it did. */
  #retired = new Map<number, number>();
  #host: HostCore | undefined;

  constructor(world: World, violated: Violated) {
    this.#world = world;
    this.#violated = violated;
  }

  meet(host: HostCore): void {
    this.#host = host;
  }

  /** Of processes of servers all processes of the host know the same. */
  inherit(before: ServerRules, isSame: (server: string) => boolean): void {
    this.#retired = before.#retired;
    for (const [name, definition] of before.#definitions) {
      if (isSame(name)) this.#definitions.set(name, definition);
    }
  }

  /** The server of this name, if one is registered now. */
  server(name: string): Server | undefined {
    return this.#host?.get(name);
  }

  /** Would a call find it now? */
  isRegistered(name: string): boolean {
    try {
      return this.#host?.find(name) !== undefined;
    } catch {
      return false; // not registered at the moment, or the host is closing
    }
  }

  /** Does the host itself hide this tool now? */
  hides(name: string, tool: string): boolean {
    return this.server(name)?.toolConfig(tool)?.hidden === true;
  }

  /** Which definition of its tools is known; 0 while none is. */
  definitionOf(name: string): number {
    const server = this.server(name);
    return server ? knownDefinition(server) : 0;
  }

  /** Another program or address stands behind its name, with definitions of its own. */
  replaced(name: string): void {
    this.#definitions.delete(name);
  }

  // --- what the host tells -----------------------------------------------------------------

  heard(event: HostEvent, step: number): void {
    switch (event.kind) {
      case 'registered':
        this.#definitions.delete(event.server);
        this.#leases.delete(event.server);
        return;
      case 'starting':
        return this.#judgeStart(event.server);
      case 'ready':
        this.#judgeEras(event.server);
        return void this.#pids.set(event.server, event.pid);
      case 'lost':
        return this.#judgeNoise(event.server);
      case 'ejected':
        return this.#judgeEjected(event.server);
      case 'defect':
        return this.#violated('one-bad-neighbour', `${event.server}: ${event.detail}`);
      case 'stopping':
        this.#retire(event.server, step);
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

  /** Lines that are not MCP end a process only if it says nothing else, and leaves a probe unanswered. */
  #judgeNoise(name: string): void {
    const fault = this.server(name)?.supervisor.lastFault?.fault;
    const pid = this.#pids.get(name);
    const child = [...this.#world.left].find((one) => one.pid === pid);
    if (fault?.code !== 'protocol_violation' || child === undefined) return;
    const now = this.#world.clock.now();
    const { saidAt, owesProbe } = child.program;
    const quiet = now - saidAt;
    if (quiet > readMs && quiet < quietMs - readMs) {
      this.#violated('noise', `${name} ${pid} is ended, and said something ${quiet} ms ago`);
    } else if (!owesProbe && !child.isDeaf) {
      this.#violated('noise', `${name} ${pid} is ended, and owes no answer to a probe`);
    }
  }

  #judgeEjected(name: string): void {
    if (name === listedOnly) this.#violated('restart-budget', `${name} is ejected by lists alone`);
  }

  /** What is known of a server's eras is what it has said: silence says nothing. */
  #judgeEras(name: string): void {
    const server = this.server(name);
    if (server === undefined) return;
    const { config, facts } = server;
    // What was said before an update was true, and is known until the server says otherwise.
    if (config.type === 'stdio' && this.#world.replaced.has(config.args.join(' '))) return;
    const spoken = config.type === 'stdio' ? config.args[0] : new URL(config.url).pathname.slice(1);
    const isBoth = spoken === 'both';
    if (config.type === 'stdio' && isBoth && facts.now.legacy === false) {
      this.#violated('eras', `${name} is known not to speak the legacy era, which it does`);
    }
    const isDenied = config.type === 'stdio' || this.#world.deniedModern.has(name);
    if ((isBoth || spoken === 'modern') && !isDenied && facts.now.modern === false) {
      this.#violated('eras', `${name} is known not to speak the modern era, and never said so`);
    }
  }

  leased(name: string, lease: object): void {
    const leases = this.#leases.get(name) ?? new Set();
    this.#leases.set(name, leases.add(lease));
  }

  released(name: string, lease: object): void {
    this.#leases.get(name)?.delete(lease);
  }

  #judgeUnused(name: string): void {
    const isLeased = (this.#leases.get(name)?.size ?? 0) > 0;
    if (isLeased || this.server(name)?.supervisor.leases.isWanted) {
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

  #retire(name: string, step: number): void {
    const pid = this.#pids.get(name) ?? null;
    if (pid !== null && !this.#retired.has(pid)) this.#retired.set(pid, step);
  }

  /** `calls`: those it can be. A process whose end has begun is given what it had, and nothing new. */
  received(call: ServedCall, calls: readonly CallRecord[]): void {
    const retiredStep = this.#retired.get(call.pid) ?? Infinity;
    if (calls.every(({ begunStep }) => begunStep > retiredStep)) {
      this.#violated(
        'generations',
        `${call.server} ${call.pid} is ending and was sent ${call.nonce}`,
      );
    }
    this.#judgeKnown(call);
  }

  /** What is known of the tools of a process was read from that process. */
  #judgeKnown({ server: name, pid, definition }: ServedCall): void {
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
    for (const server of this.#host?.servers() ?? []) {
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
    const { internalErrors = 0 } = this.#host?.status() ?? {};
    if (internalErrors > 0) {
      this.#violated('one-bad-neighbour', `${internalErrors} errors of our own are counted`);
    }
    for (const { name, supervisor, admission } of this.#host?.servers() ?? []) {
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
