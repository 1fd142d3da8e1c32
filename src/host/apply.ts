// Applies another configuration to a running host. The plan says what differs (config/plan.ts);
// this file carries it out: servers are added, removed, reconfigured where possible and restarted
// where necessary, and the settings that apply live are passed on. One change at a time: a second
// one waits for the first. What cannot be changed while running stays unchanged, and is in the plan
// again the next time.

import type { ResponseCache } from '../cache/cache.ts';
import type { LoadedConfig } from '../config/loaded.ts';
import { type ConfigPlan, planOf, serverChange } from '../config/plan.ts';
import type { Config, ServerConfig } from '../config/schema.ts';
import { Fault, faultFrom } from '../kernel/fault.ts';
import { ownValue } from '../kernel/own-value.ts';
import { type Access, type Action, serverRequest } from '../policy/access.ts';
import type { RoleBudgets } from '../policy/role-budgets/role-budgets.ts';
import { Roles } from '../policy/roles/roles.ts';
import type { HostNews } from './host-news.ts';
import type { IdlePool } from './servers/idle-pool.ts';
import type { Registry } from './servers/registry.ts';
import type { Server } from './servers/server.ts';

/** What was done: the plan, and what of it went wrong. */
export interface AppliedConfig extends ConfigPlan {
  /** Servers that could not be added or changed, with the cause; the others are applied. */
  readonly failed: readonly ServerCause[];
  /** Servers that the config names but that are not run, with the cause. */
  readonly disabled: readonly ServerCause[];
}

/** Why a server is not as the config has it. */
export interface ServerCause {
  /** Its name in the config. */
  readonly name: string;
  /** One line. */
  readonly cause: string;
}

export interface ApplyParts {
  readonly registry: Registry;
  readonly cache: ResponseCache;
  readonly pool: IdlePool;
  readonly news: HostNews;
  readonly access: Access;
  readonly roleBudgets: RoleBudgets;
  /** Throws when the host is ending. */
  assertOpen(server: string): void;
}

interface Changing {
  readonly server: Server;
  readonly config: ServerConfig;
  readonly keys: readonly string[];
  readonly restart: boolean;
}

export class LiveConfig {
  readonly #parts: ApplyParts;
  #config: Config;
  /** What says who may do what: the newest config that was given, also while an earlier one is still applied. */
  #policy: Config;
  #last: Promise<unknown> = Promise.resolve();

  /** Registers the servers of the first config; none is started. */
  constructor(first: Pick<LoadedConfig, 'config' | 'disabled'>, parts: ApplyParts) {
    const { config, disabled } = first;
    this.#config = config;
    this.#policy = config;
    this.#parts = parts;
    const added = Object.entries(config.mcpServers);
    const order = Object.keys(config.mcpServers);
    this.#setRoles();
    parts.registry.change({ removed: [], added, replaced: [], order, disabled });
  }

  #setRoles(): void {
    const roles = new Roles(this.#policy);
    this.#parts.access.roles = roles;
    this.#parts.roleBudgets.configure(roles);
  }

  /** What applies now: settings that need a restart of the host are unchanged. */
  get now(): Config {
    return this.#config;
  }

  /** What `apply` would do; changes that wait for their turn are not counted. */
  planFor({ config }: LoadedConfig): ConfigPlan {
    return planOf(this.#inUse, config);
  }

  /** Resolves when the change is complete: what was removed or replaced has ended. */
  apply(next: LoadedConfig): Promise<AppliedConfig> {
    this.#takePolicy(next);
    const applied = this.#last.then(() => this.#apply(next));
    this.#last = applied.catch(() => {});
    return applied;
  }

  /**
   * First of all, and whatever an earlier change still waits for: what somebody may not do any more is not done
   * during the change either. One that would be refused later changes nothing.
   */
  #takePolicy(next: LoadedConfig): void {
    try {
      this.#parts.assertOpen('');
      this.#authorize(this.planFor(next));
    } catch (thrown) {
      if (thrown instanceof Fault) return;
      throw thrown;
    }
    this.#decideBy(next.config);
  }

  #decideBy(config: Config): void {
    const before = this.#policy;
    this.#policy = config;
    if (isSamePolicy(before, config)) return;
    this.#setRoles();
    this.#parts.news.policyChanged();
  }

  async #apply(loaded: LoadedConfig): Promise<AppliedConfig> {
    const { config: next, disabled } = loaded;
    const { registry } = this.#parts;
    this.#parts.assertOpen('');
    const plan = this.planFor(loaded);
    try {
      this.#authorize(plan);
    } catch (thrown) {
      if (this.#policy === next) this.#decideBy(this.#config);
      throw thrown;
    }
    this.#config = withLiveSettings(this.#config, next, plan);
    // Patterns may use the names that the config gives to tools.
    if (plan.added.length + plan.changed.length > 0) this.#setRoles();
    const touched = [...plan.added, ...plan.changed.map(({ name }) => name)];
    // A program may have added a server under a name that the config has now, or removed one.
    const changing = touched.flatMap((name) => this.#changing(name, next));
    const missing = touched.filter((name) => !registry.get(name));
    for (const name of [...touched, ...plan.removed]) this.#parts.cache.invalidate(name);
    // In this order: listeners of the change find the servers as they are configured now.
    const changed = changing.map((one) => this.#change(one));
    const added = registry.change({
      removed: plan.removed,
      added: missing.map((name) => [name, entryOf(next, name)] as const),
      replaced: changing.filter(({ restart }) => restart).map(({ server }) => server),
      order: Object.keys(next.mcpServers),
      disabled,
    });
    for (const server of added) if (!server.config.lazy) server.supervisor.want();
    this.#tell(plan, changing);
    const failed = (await Promise.all(changed)).flat();
    await registry.settled();
    const causes = listed(registry.disabled);
    const notMade = causes.filter(({ name }) => missing.includes(name) && !disabled.has(name));
    return { ...plan, failed: [...notMade, ...failed], disabled: causes };
  }

  /** Without the servers that could not be set up, or that a program has replaced in vain: they are added again. */
  get #inUse(): Config {
    const { registry } = this.#parts;
    const servers = Object.entries(this.#config.mcpServers).filter(([name]) => registry.get(name));
    return { ...this.#config, mcpServers: Object.fromEntries(servers) };
  }

  /** All of it or nothing: a change that is denied leaves everything as it is. */
  #authorize({ added, removed, changed }: ConfigPlan): void {
    const authorize = (action: Action, name: string) =>
      this.#parts.access.authorizeOwn(serverRequest(action, name));
    for (const name of added) authorize('spawn', name);
    for (const name of removed) authorize('stop', name);
    for (const { name } of changed) authorize('reload', name);
  }

  #changing(name: string, next: Config): readonly Changing[] {
    const server = this.#parts.registry.get(name);
    if (!server) return [];
    const config = entryOf(next, name);
    const { keys, restart } = serverChange(name, server.config, config);
    return keys.length > 0 ? [{ server, config, keys, restart }] : [];
  }

  /** An error of one server does not affect the others. */
  async #change({ server, config, restart }: Changing): Promise<AppliedConfig['failed']> {
    try {
      if (restart) await server.restart(config);
      else server.reconfigure(config);
      return [];
    } catch (thrown) {
      return [{ name: server.name, cause: faultFrom(thrown).message }];
    }
  }

  #tell({ settings }: ConfigPlan, changing: readonly Changing[]): void {
    const { news, cache, pool } = this.#parts;
    // Which tools are shown, and under which names, may have changed.
    for (const { server, keys, restart } of changing) {
      if (!restart && keys.includes('tools')) news.listChanged(server.name, 'tools', 'new');
    }
    if (!settings.some(({ applies }) => applies === 'live')) return;
    cache.limit(this.#config.cache);
    pool.limit(this.#config.maxIdle);
    news.settingsChanged(this.#config);
  }
}

function isSamePolicy(one: Config, other: Config): boolean {
  const policyOf = ({ roles, local }: Config) => JSON.stringify([roles, local]);
  return policyOf(one) === policyOf(other);
}

/** The new servers, and of the settings those that apply while running. */
function withLiveSettings(old: Config, next: Config, { settings }: ConfigPlan): Config {
  const waiting = settings.filter(({ applies }) => applies === 'restart-host');
  const kept = waiting.map(({ key }) => [
    key,
    ownValue(old as Readonly<Record<string, unknown>>, key),
  ]);
  return { ...next, ...Object.fromEntries(kept) };
}

function entryOf({ mcpServers }: Config, name: string): ServerConfig {
  return ownValue(mcpServers, name) as ServerConfig;
}

function listed(causes: ReadonlyMap<string, string>): AppliedConfig['disabled'] {
  return [...causes].map(([name, cause]) => ({ name, cause }));
}
