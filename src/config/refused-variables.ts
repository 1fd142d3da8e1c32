// Finds the variables in the entry of a server that it may not set: those which make a program load
// other code (kernel/dangerous-variables.ts) and which its `allowEnv` does not name. Such a server
// is disabled with the cause; the others go on. The same rule holds in the files of other clients,
// which ignore the key `allowEnv`.

import { isDangerous, isDangerousFamily } from '../kernel/dangerous-variables.ts';
import type { Path } from './document.ts';
import type { Gap } from './interpolate.ts';
import { entriesOf } from './loaded.ts';
import { pathText, shownWord } from './message-text.ts';

/** `entry` may be anything: what is not as it should be is judged by the schema. */
export function refusedVariables(entry: unknown, path: Path): readonly Gap[] {
  const { env, inheritEnv, allowEnv } = entriesOf(entry);
  const allowed: ReadonlySet<unknown> = new Set(Array.isArray(allowEnv) ? allowEnv : []);
  const isRefused = (name: string) => isDangerous(name) && !allowed.has(name);
  const declared = Object.keys(entriesOf(env))
    .filter(isRefused)
    .map((name) => refusal(name, [...path, 'env', name]));
  const inherited = (Array.isArray(inheritEnv) ? inheritEnv : []).flatMap((name: unknown, at) => {
    const place = [...path, 'inheritEnv', at];
    if (typeof name !== 'string') return [];
    if (name.endsWith('*')) return isDangerousFamily(name) ? [familyRefusal(name, place)] : [];
    return isRefused(name) ? [refusal(name, place)] : [];
  });
  return [...declared, ...inherited];
}

function refusal(name: string, path: Path): Gap {
  const word = shownWord(name);
  const cause = `${pathText(path)} names ${word}, which can make programs run other code: remove it, or add "allowEnv": [${word}] to the server if you want that`;
  return { path, cause };
}

function familyRefusal(pattern: string, path: Path): Gap {
  const cause = `${pathText(path)} is ${shownWord(pattern)}, and such variables can make programs run other code: name each one that is needed, in inheritEnv and in allowEnv`;
  return { path, cause };
}
