// The rules about configs that are applied to a running host. Nothing happens to a server that a
// config does not change: it is not ended, not registered anew, and stays the same object. What is
// taken out ends and leaves nothing behind; what is replaced lets its calls end first. When a config
// is applied, the host is the same as a fresh one with this config. While several are applied one
// after the other, what is visible may be of any of them.

import { isDeepStrictEqual } from 'node:util';
import type { ServerCause } from '../../src/host/apply.ts';
import type { ConnectionSlot } from '../../src/host/connections/connection-slot.ts';
import type { HostCore } from '../../src/host/host-core.ts';
import type { HostEvent } from '../../src/observe/events.ts';
import type { Violated } from './call-rules.ts';
import { type CallRecord, describe } from './calls.ts';
import { type Difference, differenceOf, hidesTool, type RunConfig } from './config-changes.ts';
import type { SimChild } from './sim-child.ts';
import type { Tether } from './tether.ts';
import type { World } from './world.ts';

/** A config that is being applied. */
interface Applying {
  readonly config: RunConfig;
  readonly difference: Difference;
  /** Set when its turn has come: one is applied after the other. */
  begunAt: number | undefined;
  /** The servers it does not change, as they were then. */
  untouched: ReadonlyMap<string, object>;
}

/** How long running calls of a server that is replaced may take to end; a little less than the host says. */
const drainMs = 4_900;

export interface ConfigRulesParts {
  readonly world: World;
  readonly violated: Violated;
  /** Of the process that serves. */
  readonly tether: () => Tether;
  /** A host with this config that has never had another one; nothing is started. */
  readonly fresh: (config: RunConfig) => HostCore;
  /** This config takes effect now. */
  readonly changes: (difference: Difference) => void;
}

export class ConfigRules {
  readonly #parts: ConfigRulesParts;
  /** Operations on single servers that are under way, by name. */
  readonly #covered = new Map<string, number>();
  /** What an operator has stopped since it was registered. */
  readonly #stopped = new Set<string>();
  /** When the process of a server was last to end because of a config. */
  readonly #endedAt = new Map<string, number>();
  /** The last that somebody began to apply: the next host is started with it. */
  #last: RunConfig;
  /** The last that this host said it has applied. */
  #applied: RunConfig;
  #applying: Applying[] = [];
  #host: HostCore | undefined;
  /** How often a config was begun or was applied: what was so before may not be so after. */
  version = 0;

  constructor(first: RunConfig, parts: ConfigRulesParts) {
    this.#last = first;
    this.#applied = first;
    this.#parts = parts;
  }

  get last(): RunConfig {
    return this.#last;
  }

  /** Another life begins, with the last config. */
  lifeBegins(): void {
    this.#applied = this.#last;
    this.#applying = [];
    this.#covered.clear();
    this.#stopped.clear();
    this.#endedAt.clear();
    this.#host = undefined;
    this.version += 1;
  }

  meet(host: HostCore): void {
    this.#host = host;
  }

  /** Everything ends now, by one word for all. */
  lifeEnds(): void {
    this.#host = undefined;
  }

  /** Whether a tool is hidden; undefined while that changes. */
  hides(server: string, tool: string): boolean | undefined {
    const possible = [this.#applied, ...this.#applying.map(({ config }) => config)];
    const hidden = new Set(possible.map((config) => hidesTool(config, server, tool)));
    return hidden.size === 1 ? hidden.has(true) : undefined;
  }

  // --- what an operator does ---------------------------------------------------------------

  /** Right before it is applied. */
  begins(config: RunConfig): object {
    const difference = differenceOf(this.#last, config);
    this.#last = config;
    const applying: Applying = { config, difference, begunAt: undefined, untouched: new Map() };
    this.#applying.push(applying);
    this.version += 1;
    if (this.#applying.length === 1) this.#takesEffect();
    return applying;
  }

  get isApplying(): boolean {
    return this.#applying.length > 0;
  }

  /** The next process serves, which was started with this config; what the one before still applies is its own. */
  succeeds(host: HostCore, started: RunConfig): void {
    this.#last = started;
    this.#applied = started;
    this.#applying = [];
    this.#host = host;
    this.version += 1;
  }

  /** In the turn in which the host says that it is applied and what of it failed, or that it is not. */
  ended(applying: object, failed: readonly ServerCause[] | undefined): void {
    // Otherwise it is that of a process which has been replaced.
    if (this.#applying[0] !== applying) return;
    const done = this.#applying.shift();
    if (done === undefined) return;
    this.version += 1;
    for (const { name, cause } of failed ?? []) this.#violated(`${name} was not applied: ${cause}`);
    if (failed) {
      this.#applied = done.config;
      this.#judgeApplied(done);
    }
    this.#takesEffect();
  }

  /** Somebody stops, reloads or replaces this server until the result is disposed of. */
  covers(name: string): Disposable {
    this.#covered.set(name, (this.#covered.get(name) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        this.#covered.set(name, (this.#covered.get(name) ?? 1) - 1);
      },
    };
  }

  stops(name: string): void {
    this.#stopped.add(name);
  }

  #takesEffect(): void {
    const next = this.#applying[0];
    if (next === undefined || next.begunAt !== undefined) return;
    const { world, changes } = this.#parts;
    const { added, removed, restarted, reconfigured } = next.difference;
    next.begunAt = world.clock.now();
    const touched = new Set([...added, ...removed, ...restarted, ...reconfigured]);
    const others = (this.#host?.servers() ?? []).filter(({ name }) => !touched.has(name));
    next.untouched = new Map(others.map((server) => [server.name, server]));
    for (const name of [...removed, ...restarted]) this.#endedAt.set(name, next.begunAt);
    this.#parts.world.happenings.add('config changes');
    this.#parts.world.happenings.add('servers added', added.length);
    this.#parts.world.happenings.add('servers removed', removed.length);
    this.#parts.world.happenings.add('servers restarted', restarted.length);
    this.#parts.world.happenings.add('servers reconfigured', reconfigured.length);
    const kinds = Object.entries(next.difference).map(([kind, names]) => `${kind} ${names}`);
    world.trace.add(`a config: ${kinds.join(', ')}`);
    changes(next.difference);
  }

  // --- what the host tells -----------------------------------------------------------------

  /** Servers end and come by a word about them, and by no other. */
  heard(event: HostEvent): void {
    const { server, kind } = event;
    if (kind === 'registered') this.#stopped.delete(server);
    const isWord =
      kind === 'registered' ||
      kind === 'removed' ||
      (kind === 'stopping' && event.reason !== 'idle' && event.reason !== 'hung');
    if (!isWord || this.#host === undefined || (this.#covered.get(server) ?? 0) > 0) return;
    if (this.#isTouched(server, kind)) return;
    this.#violated(`${server}: '${kind}', and no config or operator has asked for it`);
  }

  #isTouched(server: string, kind: string): boolean {
    const { added, removed, restarted } = this.#applying[0]?.difference ?? nothing;
    if (kind === 'registered') return added.includes(server);
    return removed.includes(server) || (kind === 'stopping' && restarted.includes(server));
  }

  /** A call on a process that a config replaces or takes out may end there. */
  callEnded(record: CallRecord): void {
    const { plan, ended } = record;
    const endedAt = this.#endedAt.get(plan.server);
    if (endedAt === undefined || ended?.ending.kind !== 'fault' || plan.isShared) return;
    const { code } = ended.ending.fault;
    if (code !== 'outcome_unknown' && code !== 'unavailable') return;
    if (ended.at - endedAt >= drainMs || (this.#covered.get(plan.server) ?? 0) > 0) return;
    const { world } = this.#parts;
    const lines = world.ledger.of(plan.nonce);
    const pid = lines.find(({ at, phase }) => phase === 'received' && at < endedAt)?.call.pid;
    const child = [...world.left].find((one) => one.pid === pid);
    if (child === undefined || !child.isSound) return;
    const waited = ended.at - endedAt;
    this.#violated(`${describe(record)} ended in ${code}, ${waited} ms after a config`);
  }

  // --- when a config is applied ------------------------------------------------------------

  #judgeApplied({ config, untouched, difference }: Applying): void {
    const host = this.#host;
    if (host === undefined) return;
    for (const [name, server] of untouched) {
      if (host.get(name) !== server) this.#violated(`${name} is another one, and was not changed`);
    }
    for (const name of difference.removed) this.#judgeGone(host, name);
    this.#parts.world.happenings.add('states compared with a fresh host');
    const stopped = this.#stopped;
    const [is, due] = [stateOf(host, stopped), stateOf(this.#parts.fresh(config), stopped)];
    const other = [...due.keys()].filter((key) => !isDeepStrictEqual(is.get(key), due.get(key)));
    for (const key of other) {
      this.#violated(`the host is not as a fresh one: ${key}`);
    }
  }

  #judgeGone(host: HostCore, name: string): void {
    const { left } = this.#parts.world;
    const isOurs = ({ tether }: SimChild) =>
      tether === undefined || tether === this.#parts.tether();
    const child = [...left].find((one) => one.name === name && !one.isOrphan && isOurs(one));
    if (child) this.#violated(`${name} is taken out, and ${child.pid} is left`);
    if (host.known(name)) this.#violated(`${name} is taken out, and still known`);
  }

  #violated(detail: string): void {
    this.#parts.violated('live-config', detail);
  }
}

const nothing: Difference = { added: [], removed: [], restarted: [], reconfigured: [] };

/** What a config decides of a host; what an operator has stopped is not kept running. */
function stateOf(host: HostCore, stopped: ReadonlySet<string>): ReadonlyMap<string, unknown> {
  const running = host.servers().filter(({ name }) => !stopped.has(name));
  const { servers } = host.status();
  const disabled = servers.flatMap(({ name, state, cause }) =>
    state === 'disabled' ? [[name, cause]] : [],
  );
  const hidden = host.servers().map(({ name, config }) => {
    const tools = Object.entries(config.tools).filter(([, tool]) => tool.hidden);
    return [name, tools.map(([tool]) => tool)];
  });
  // As JSON: which objects inherit from nothing does not matter.
  return new Map<string, unknown>([
    ['names', host.servers().map(({ name }) => name)],
    ['entries', new Map(host.servers().map(({ name, config }) => [name, config]))],
    ['rows', servers.map(({ name }) => name)],
    ['disabled', disabled],
    ['hidden tools', hidden],
    ['kept running', running.map(({ slots }) => [...slots.all()].some(isKept))],
    ['settings', JSON.parse(JSON.stringify(host.config))],
  ]);
}

function isKept({ supervisor }: ConnectionSlot): boolean {
  return supervisor.leases.isPinned;
}
