// The state directory of this user, shared by everything Holdfast runs for them: the event log, what
// is known about servers, and the records against orphans.

import type { Shell } from './shell.ts';

export async function ownStateDirectory({ cwd, env }: Shell): Promise<string> {
  const [{ stateDirectory }, { homeOf }] = await Promise.all([
    import('../config/locate.ts'),
    import('../config/load.ts'),
  ]);
  return stateDirectory({ cwd, env, home: homeOf(env) });
}
