// Reads the state of the host and its servers. It only reads: nothing is started, contacted or
// waited for. status.ts has the types.

import { serverRequest } from '../policy/access.ts';
import { isOperatorOf, ownerOf, type Principal } from '../policy/principal.ts';
import type { BudgetStatus } from '../policy/role-budgets/budget-status.ts';
import type { HostAudit } from './call/call-audit.ts';
import type { HostParts } from './host-parts.ts';
import type { PipelineParts } from './pipeline-parts.ts';
import { noRollouts } from './rollout-status.ts';
import type { Server } from './servers/server.ts';
import type { AuditStatus, HostStatus, ServerState, ServerStatus } from './status.ts';

export class StatusReading {
  /** What another part adds about a server besides its state: one line, or null. */
  explain: (server: string) => string | null = () => null;
  readonly #parts: PipelineParts;
  readonly #given: HostParts;
  #startedAt: number;

  constructor(parts: PipelineParts, given: HostParts) {
    this.#parts = parts;
    this.#given = given;
    this.#startedAt = parts.clock.now();
  }

  /** Also before this process, if it goes on with the host of another one. */
  get uptimeMs(): number {
    return this.#parts.clock.now() - this.#startedAt;
  }

  set uptimeMs(ms: number) {
    this.#startedAt = this.#parts.clock.now() - ms;
  }

  /** Of the servers that this principal may see. */
  all(principal: Principal): HostStatus {
    const { identity, instance, startedBy, configFile, store, audit } = this.#given;
    const { access, cache, defects, registry, traffic } = this.#parts;
    const mayKnow = ({ name }: { readonly name: string }) =>
      access.isAllowed(principal, serverRequest('status', name));
    const running = registry
      .byName()
      .filter(mayKnow)
      .map((server) => this.of(server));
    const off = [...registry.disabled]
      .map(([name, cause]) => disabledStatus(name, cause))
      .filter(mayKnow);
    const { phase: rollout, ...rollouts } = (this.#given.rollout ?? noRollouts).read();
    return {
      version: identity.version,
      instance,
      startedBy,
      config: configFile,
      uptimeMs: Math.round(this.uptimeMs),
      rollout,
      rollouts,
      disk: store.health(),
      audit: auditStatus(audit),
      servers: [...running, ...off].sort((a, b) => (a.name < b.name ? -1 : 1)),
      cache: cache.stats(),
      calls: traffic.calls,
      budgets: this.#budgets(principal),
      internalErrors: defects.total,
    };
  }

  #budgets(principal: Principal): readonly BudgetStatus[] {
    const { access, roleBudgets } = this.#parts;
    const isOperator = isOperatorOf(principal, '');
    return roleBudgets.spent({
      owner: ownerOf(principal).id,
      role: access.roleOf(principal),
      seesAll: isOperator && access.scopeOf(principal) === '',
      isOperator,
    });
  }

  of(server: Server): ServerStatus {
    const { cache, clock } = this.#parts;
    const moment = { now: clock.now(), wallNow: clock.wallNow() };
    return serverStatus(server, cache.entriesOf(server.name), moment, this.explain(server.name));
  }
}

function auditStatus(audit: HostAudit | undefined): AuditStatus {
  if (audit === undefined) return { mode: 'off', problem: null, lost: 0, refused: 0, gaps: 0 };
  return { mode: audit.mode, ...audit.trail.health, gaps: audit.gaps?.() ?? 0 };
}

/** Monotonic and wall time of one moment, to show the one as the other. */
interface Moment {
  readonly now: number;
  readonly wallNow: number;
}

const shownStderrLines = 20;

/** `note` is what another part adds about a server besides its state. */
function serverStatus(
  server: Server,
  cacheEntries: number,
  moment: Moment,
  note: string | null,
): ServerStatus {
  const { supervisor, admission, config } = server;
  const { connection, leases, breaker } = supervisor;
  const { child } = connection ?? {};
  const pid = connection?.pid ?? null;
  const { lastFault } = supervisor;
  return {
    name: server.name,
    state: stateOf(server),
    cause: [causeOf(server), note].filter((text) => text !== null).join('; ') || null,
    transport: config.type,
    era: server.greeting?.era ?? null,
    protocolVersion: server.greeting?.protocolVersion ?? null,
    pid,
    children: childrenOf(server),
    generation: supervisor.generation,
    lazy: config.lazy,
    pinned: leases.isPinned,
    trusted: config.trusted,
    leases: leases.owners,
    inFlight: admission.inside,
    queued: admission.queued,
    restarts: supervisor.restarts,
    restartsLeft: supervisor.restartsLeft,
    consecutiveFailures: breaker.failures,
    circuit: breaker.circuit,
    ejected: supervisor.isEjected,
    nextAttemptAt: nextAttemptAt(server, moment),
    lastFault: lastFault ? { ...lastFault.fault.record, at: lastFault.at } : null,
    cacheEntries,
    tools: server.catalogue.offered?.size ?? null,
    containment: child?.containment ?? null,
    stateHidden: child?.isStateHidden ?? null,
    limitsEnforced: child?.enforced ?? null,
    noise: Object.fromEntries(server.noise),
    stderr: server.stderr.slice(-shownStderrLines),
  };
}

function childrenOf(server: Server): ServerStatus['children'] {
  return [...server.slots.all()].flatMap(({ supervisor, owner, aim }) => {
    const pid = supervisor.connection?.pid ?? null;
    const { connection } = supervisor;
    if (!connection || pid === null) return [];
    const { era } = connection;
    const clients = era === 'legacy' ? aim.clients.key : null;
    const { generation } = supervisor;
    const { folder = null } = aim;
    return [{ pid, generation, client: owner, era, class: clients, folder }];
  });
}

/** A server that the config names but that cannot be run. */
export function disabledStatus(name: string, cause: string): ServerStatus {
  return {
    name,
    state: 'disabled',
    cause,
    transport: 'stdio',
    era: null,
    protocolVersion: null,
    pid: null,
    children: [],
    generation: 0,
    lazy: true,
    pinned: false,
    trusted: false,
    leases: [],
    inFlight: 0,
    queued: 0,
    restarts: 0,
    restartsLeft: null,
    consecutiveFailures: 0,
    circuit: 'closed',
    ejected: false,
    nextAttemptAt: null,
    lastFault: null,
    cacheEntries: 0,
    tools: null,
    containment: null,
    stateHidden: null,
    limitsEnforced: null,
    noise: {},
    stderr: [],
  };
}

function stateOf(server: Server): ServerState {
  const { phase, breaker, isEjected } = server.supervisor;
  if (phase.kind === 'ended') return 'stopping';
  if (isEjected) return 'ejected';
  if (phase.kind === 'ejected' || phase.kind === 'stopping') return phase.kind;
  return breaker.circuit === 'closed' ? phase.kind : 'degraded';
}

function causeOf(server: Server): string | null {
  const { phase, breaker, lastFault } = server.supervisor;
  const isFine = phase.kind === 'ready' && breaker.circuit === 'closed';
  return isFine || !lastFault ? null : lastFault.fault.message;
}

function nextAttemptAt(server: Server, { now, wallNow }: Moment): number | null {
  const { phase, breaker } = server.supervisor;
  const at = phase.kind === 'cooling' ? phase.until : breaker.probeAt;
  return at === null || at <= now ? null : Math.round(wallNow + (at - now));
}
