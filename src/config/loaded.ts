// The result of reading a configuration. A server is either in `config.mcpServers`, complete and
// ready to run, or in `disabled` with the cause; never in both. `notices` are lines for a person
// about what was ignored or converted; they are not errors.

import { resolve } from 'node:path';
import { isRecord } from '../kernel/json-values.ts';
import { runsInFolders } from './client-folders.ts';
import type { Path } from './document.ts';
import { frozen } from './frozen.ts';
import { pathText } from './message-text.ts';
import { type Config, configSchema } from './schema.ts';

export interface LoadedConfig {
  /** The file it came from; null when a program gave it as an object. */
  readonly file: string | null;
  readonly config: Config;
  readonly disabled: ReadonlyMap<string, string>;
  /** The servers that are disabled by their entry; the others are incomplete. */
  readonly switchedOff: ReadonlySet<string>;
  readonly notices: readonly string[];
}

/** The servers of an input, as the schema will see them. */
export type Entries = Readonly<Record<string, unknown>>;

/** The finished configuration from a validated input, without its disabled servers. */
export function finishedConfig(
  input: Entries,
  folder: string,
  disabled: ReadonlyMap<string, string>,
): Config {
  const servers = Object.entries(entriesOf(input['mcpServers'])).filter(
    ([name]) => !disabled.has(name),
  );
  const { $schema: _, ...config } = configSchema.parse({
    ...input,
    mcpServers: Object.fromEntries(servers),
  });
  for (const server of Object.values(config.mcpServers)) {
    if (server.type === 'stdio' && !runsInFolders(server)) {
      server.cwd = resolve(folder, server.cwd);
    }
  }
  if (config.keyFile !== undefined) config.keyFile = resolve(folder, config.keyFile);
  return frozen(config);
}

/** Why a server with `disabled` does not run. */
export function switchedOff(path: Path): string {
  return `switched off by ${pathText(path)}.disabled in the config`;
}

/** The members of an object; of anything else, none. */
export function entriesOf(value: unknown): Entries {
  return isRecord(value) ? { ...value } : {};
}
