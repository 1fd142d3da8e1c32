// Where the config file and the state directory are searched for. Pure: the environment, the
// working directory, the home directory and a probe are arguments, and nothing is read here.

import { dirname, isAbsolute, join, resolve } from 'node:path';
import { Fault } from '../kernel/fault.ts';

export const configFileName = 'holdfast.json';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  readonly cwd: string;
  readonly env: Environment;
  /** The user's home, if there is one. */
  readonly home: string | undefined;
}

/** `named`: the operator named the file. `found`: it was found by searching. */
export type Location =
  | { readonly kind: 'named'; readonly file: string }
  | { readonly kind: 'found'; readonly file: string }
  | { readonly kind: 'absent'; readonly looked: readonly string[] };

/** `--config`, then HOLDFAST_CONFIG, then the working directory and its parents, then XDG. */
export function locateConfig(
  named: string | undefined,
  { cwd, env, home }: Surroundings,
  isFile: (path: string) => boolean,
): Location {
  const name = named ?? nonEmpty(env['HOLDFAST_CONFIG']);
  if (name !== undefined) return { kind: 'named', file: resolve(cwd, name) };
  const looked = ancestors(resolve(cwd)).map((folder) => join(folder, configFileName));
  const shared = xdg(env['XDG_CONFIG_HOME'], home, '.config');
  if (shared !== undefined) looked.push(join(shared, 'holdfast', configFileName));
  const file = looked.find(isFile);
  return file === undefined ? { kind: 'absent', looked } : { kind: 'found', file };
}

/** HOLDFAST_STATE, then `$XDG_STATE_HOME/holdfast`, then `~/.local/state/holdfast`. */
export function stateDirectory({ cwd, env, home }: Surroundings): string {
  const named = nonEmpty(env['HOLDFAST_STATE']);
  if (named !== undefined) return resolve(cwd, named);
  const shared = xdg(env['XDG_STATE_HOME'], home, join('.local', 'state'));
  if (shared !== undefined) return join(shared, 'holdfast');
  throw new Fault(
    'invalid_request',
    'the state directory is unknown: none of HOLDFAST_STATE, XDG_STATE_HOME and HOME is set; set HOLDFAST_STATE to a directory',
  );
}

/**
 * Whether a file that was found by searching may decide which programs run. Not if somebody else
 * could have put it there (for example /tmp/holdfast.json). A file that the operator named is
 * always used.
 */
export function isSafeToFind(
  file: { readonly uid: number; readonly mode: number },
  ownUid: number | undefined,
): boolean {
  // Without user ids (Windows), only the file's own permissions can be checked.
  if (ownUid === undefined) return true;
  return (file.uid === ownUid || file.uid === 0) && (file.mode & 0o002) === 0;
}

function ancestors(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...ancestors(above)];
}

/** The XDG rule: a relative path there is invalid and is ignored. */
function xdg(value: string | undefined, home: string | undefined, fallback: string) {
  if (value !== undefined && isAbsolute(value)) return value;
  return home === undefined || home === '' ? undefined : join(home, fallback);
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
