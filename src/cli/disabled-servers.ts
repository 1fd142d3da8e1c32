// Servers that the config names but that cannot run. One that its owner has switched off is as it
// should be and worth no word; any other lacks something.

import { type LoadedConfig, switchedOff } from '../config/loaded.ts';

export interface DisabledServer {
  readonly name: string;
  readonly cause: string;
  readonly isSwitchedOff: boolean;
}

export function disabledServers({ disabled }: LoadedConfig): readonly DisabledServer[] {
  return [...disabled].map(([name, cause]) => {
    // Both sides come from the one function that makes this cause; no words are interpreted.
    const isSwitchedOff = sections.some((section) => switchedOff([section, name]) === cause);
    return { name, cause, isSwitchedOff };
  });
}

/** Where a file may keep its servers. */
const sections = ['mcpServers', 'servers'] as const;
