// Servers of the config that cannot run. A server that is disabled by its entry is as intended and
// not reported; any other is incomplete.

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
