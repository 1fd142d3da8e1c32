// The part of V8's heap for new objects. V8 doubles it whenever much of it survives, as it does while a
// program loads, up to 32 MiB that are not given back. So it stays small while a command starts, and for
// good in `connect`, of which there is one for each window; a gateway lets it grow with its load.

import { setFlagsFromString } from 'node:v8';

export function keepYoungGenerationSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** V8's own default. */
export function letYoungGenerationGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
