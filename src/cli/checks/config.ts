// Checks of the config file: does it exist, is everything in it valid, and does every server have
// what it needs to run? A server that is disabled by its entry is not a problem.

import type { LoadedConfig } from '../../config/loaded.ts';
import { addFirstServer } from '../../config/no-servers.ts';
import { Fault } from '../../kernel/fault.ts';
import { type DisabledServer, disabledServers } from '../disabled-servers.ts';
import { type Check, finding, note, ok } from './check.ts';

export type ConfigReading =
  | { readonly kind: 'read'; readonly loaded: LoadedConfig; readonly checks: readonly Check[] }
  | { readonly kind: 'unread'; readonly checks: readonly Check[] };

export function checkConfig(load: () => LoadedConfig): ConfigReading {
  try {
    const loaded = load();
    return { kind: 'read', loaded, checks: checksOf(loaded) };
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'invalid_request') throw error;
    return { kind: 'unread', checks: error.message.split('\n').map(problem) };
  }
}

/** A problem of the config names its place, its cause and what to do, all in one line. */
function problem(text: string): Check {
  return finding('config', text, 'correct it, then run: holdfast doctor');
}

function checksOf(loaded: LoadedConfig): Check[] {
  const { file, config, notices } = loaded;
  const disabled = disabledServers(loaded);
  const count = Object.keys(config.mcpServers).length + disabled.length;
  const summary =
    count === 0
      ? finding('config', `${file} has no servers`, addFirstServer)
      : ok('config', `${file} · ${count} ${count === 1 ? 'server' : 'servers'}`);
  return [summary, ...notices.map((text) => note('config', text)), ...disabled.map(checkDisabled)];
}

function checkDisabled({ name, cause, isSwitchedOff }: DisabledServer): Check {
  if (isSwitchedOff) return note(name, cause);
  return finding(
    name,
    `disabled: ${cause}`,
    `correct the entry of '${name}', or disable it with "disabled": true`,
  );
}
