// The config of a run while it changes: servers are taken out, disabled, brought back, started with
// other arguments, given other limits, or have a tool hidden; the order changes, and so does a setting
// of the host. A draft says what differs from the first config. What two configs differ in is worked
// out here, and not by the plan of the code under test.

import type { LoadedConfig } from '../../src/config/loaded.ts';
import type { ServerConfig } from '../../src/config/schema.ts';
import type { Dice } from './random.ts';

/** What differs in one server's entry. */
interface ServerDraft {
  readonly presence: 'there' | 'removed' | 'disabled';
  /** Another one is another program, or another address. */
  readonly variant: number;
  readonly keepAliveMs: number | undefined;
  readonly concurrency: number | undefined;
  readonly isLazy: boolean | undefined;
  readonly hidesSet: boolean;
}

export interface ConfigDraft {
  readonly servers: ReadonlyMap<string, ServerDraft>;
  /** In the order of the config. */
  readonly order: readonly string[];
  readonly maxIdle: number;
}

/** What one config has that another one has not, by name. */
export interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Their process or connection is replaced. */
  readonly restarted: readonly string[];
  /** Changed while they run. */
  readonly reconfigured: readonly string[];
}

const unchanged: ServerDraft = {
  presence: 'there',
  variant: 1,
  keepAliveMs: undefined,
  concurrency: undefined,
  isLazy: undefined,
  hidesSet: false,
};

export function firstDraft(names: readonly string[], maxIdle: number): ConfigDraft {
  return { servers: new Map(names.map((name) => [name, unchanged])), order: names, maxIdle };
}

/** No server at all. */
export function emptied(draft: ConfigDraft): ConfigDraft {
  const servers = [...draft.servers].map(
    ([name, server]) => [name, { ...server, presence: 'removed' }] as const,
  );
  return { ...draft, servers: new Map(servers) };
}

export function nextDraft(draft: ConfigDraft, dice: Dice): ConfigDraft {
  const servers = new Map(draft.servers);
  for (let times = dice.between(0, 3); times > 0; times -= 1) {
    const name = dice.pick(draft.order as readonly [string, ...string[]]);
    servers.set(name, changed(servers.get(name) ?? unchanged, dice));
  }
  const isReordered = dice.chance(0.2);
  return {
    servers,
    order: isReordered ? [...draft.order.slice(1), ...draft.order.slice(0, 1)] : draft.order,
    maxIdle: dice.chance(0.2) ? dice.pick([1, 3, 16]) : draft.maxIdle,
  };
}

function changed(server: ServerDraft, dice: Dice): ServerDraft {
  // What is not there comes back soon: most of the time there is something to call.
  if (server.presence !== 'there' && dice.chance(0.8)) return { ...server, presence: 'there' };
  const kind = dice.between(0, 99);
  if (kind < 18) return { ...server, presence: 'removed' };
  if (kind < 30) return { ...server, presence: 'disabled' };
  if (kind < 55) return { ...server, variant: 3 - server.variant };
  if (kind < 70) return { ...server, hidesSet: !server.hidesSet };
  if (kind < 80) return { ...server, keepAliveMs: dice.pick([0, 1_000, 15_000]) };
  if (kind < 90) return { ...server, concurrency: dice.pick([1, 3, 64]) };
  return { ...server, isLazy: dice.pick([true, false, undefined]) };
}

/** The keys of an entry that a draft sets. `tools` is what the entry has of them. */
export function draftKeys(
  server: ServerDraft,
  tools: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { presence, keepAliveMs, concurrency, isLazy, hidesSet } = server;
  const set = { ...(tools['set'] as object | undefined), hidden: true };
  return {
    ...(presence === 'disabled' ? { disabled: true } : {}),
    ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(isLazy === undefined ? {} : { lazy: isLazy }),
    ...(hidesSet ? { tools: { ...tools, set } } : {}),
  };
}

/** A config that is to be applied, or was. */
export interface RunConfig {
  readonly draft: ConfigDraft;
  readonly input: Readonly<Record<string, unknown>>;
  readonly loaded: LoadedConfig;
}

export function differenceOf(before: RunConfig, after: RunConfig): Difference {
  const old = before.loaded.config.mcpServers;
  const next = after.loaded.config.mcpServers;
  const inBoth = Object.keys(next).filter((name) => Object.hasOwn(old, name));
  const isOther = (name: string) => JSON.stringify(old[name]) !== JSON.stringify(next[name]);
  const restarts = (name: string) => runOf(old[name]) !== runOf(next[name]);
  return {
    added: Object.keys(next).filter((name) => !Object.hasOwn(old, name)),
    removed: Object.keys(old).filter((name) => !Object.hasOwn(next, name)),
    restarted: inBoth.filter(restarts),
    reconfigured: inBoth.filter((name) => isOther(name) && !restarts(name)),
  };
}

/** What is run, or asked. */
export function runOf(config: ServerConfig | undefined): string {
  return config?.type === 'stdio' ? config.args.join(' ') : String(config?.url);
}

export function hidesTool({ draft }: RunConfig, name: string, tool: string): boolean {
  return tool === 'secret' || (tool === 'set' && draft.servers.get(name)?.hidesSet === true);
}
