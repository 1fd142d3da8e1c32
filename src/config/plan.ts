// The difference between two configurations: which servers are added, removed or changed, by which
// keys, and what needs a restart. Pure: the same two configurations give the same plan, and nothing
// is changed here. The plan contains no values, because they may be secrets.

import { ownValue } from '../kernel/own-value.ts';
import { configKeys, serverKeys } from './live-keys.ts';
import type { Config, ServerConfig } from './schema.ts';

/** What has changed in the entry of one server. */
export interface ServerChange {
  /** Its name in the config. */
  readonly name: string;
  /** The keys of its entry whose values differ. */
  readonly keys: readonly string[];
  /** Its process or connection has to be replaced. */
  readonly restart: boolean;
}

/** A setting of the host that has changed. */
export interface SettingChange {
  /** A key of the top level. */
  readonly key: string;
  /** `restart-host`: it stays as it is until the host is started again. */
  readonly applies: 'live' | 'restart-host';
}

/** What differs between two configurations. */
export interface ConfigPlan {
  /** Servers that only the new one has, in its order. */
  readonly added: readonly string[];
  /** Servers that only the old one has. */
  readonly removed: readonly string[];
  /** Servers whose entries differ, in the order of the new one. */
  readonly changed: readonly ServerChange[];
  /** Keys of the top level whose values differ. */
  readonly settings: readonly SettingChange[];
  /** The servers that stay are in another order. */
  readonly order: boolean;
}

export function planOf(old: Config, next: Config): ConfigPlan {
  const before = Object.keys(old.mcpServers);
  const after = Object.keys(next.mcpServers);
  const stays = (name: string) =>
    Object.hasOwn(old.mcpServers, name) && Object.hasOwn(next.mcpServers, name);
  const kept = after.filter(stays);
  return {
    added: after.filter((name) => !stays(name)),
    removed: before.filter((name) => !stays(name)),
    changed: kept.flatMap((name) => {
      const change = serverChange(name, entryOf(old, name), entryOf(next, name));
      return change.keys.length > 0 ? [change] : [];
    }),
    settings: settingChanges(old, next),
    order: before.filter(stays).some((name, place) => name !== kept[place]),
  };
}

/** What has changed in one server's entry. */
export function serverChange(name: string, old: ServerConfig, next: ServerConfig): ServerChange {
  const keys = differingKeys(old, next);
  return { name, keys, restart: keys.some((key) => ownValue(serverKeys, key) !== 'live') };
}

function settingChanges(old: Config, next: Config): readonly SettingChange[] {
  const keys = differingKeys({ ...old, mcpServers: undefined }, { ...next, mcpServers: undefined });
  return keys.map((key) => ({ key, applies: ownValue(configKeys, key) ?? 'restart-host' }));
}

/** In the order of the old entry; what only the new one has comes last. */
function differingKeys(old: object, next: object): readonly string[] {
  const keys = new Set([...Object.keys(old), ...Object.keys(next)]);
  return [...keys].filter((key) => !isEqual(memberOf(old, key), memberOf(next, key)));
}

/** Two values of a configuration; the order of keys does not count. */
function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object') return false;
  if (one === null || other === null || Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) => Object.hasOwn(other, key) && isEqual(memberOf(one, key), memberOf(other, key)),
  );
}

function memberOf(object: object, key: string): unknown {
  return ownValue(object as Readonly<Record<string, unknown>>, key);
}

function entryOf({ mcpServers }: Config, name: string): ServerConfig {
  return ownValue(mcpServers, name) as ServerConfig;
}
