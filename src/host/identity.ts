// The name and version of Holdfast, from its package.json.

import { readFileSync } from 'node:fs';
import type { Identity } from '../upstream/negotiate.ts';

/** Two folders up, from the source as from the build, bundled (dist/cli) or not. */
export const packageFolder = new URL('../../', import.meta.url);

let identity: Identity | undefined;

export function ownIdentity(): Identity {
  if (identity) return identity;
  const file = new URL('package.json', packageFolder);
  const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as Identity;
  identity = { name, version };
  return identity;
}
