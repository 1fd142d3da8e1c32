// Servers that the config names but that cannot run. One that its owner has switched off is as it
// should be and worth no word; any other lacks something.

import type { LoadedConfig } from '../config/loaded.ts';

export interface DisabledServer {
  readonly name: string;
  readonly cause: string;
  readonly isSwitchedOff: boolean;
}

export function disabledServers({
  disabled,
  switchedOff,
}: LoadedConfig): readonly DisabledServer[] {
  return [...disabled].map(([name, cause]) => ({
    name,
    cause,
    isSwitchedOff: switchedOff.has(name),
  }));
}
