// What a changed config does to a running instance, one line for each server and setting.

import type { ReloadedConfig } from '../../instance/operations.ts';
import { printableLine } from '../../kernel/printable.ts';

/** `wasRunning`: before the change. */
export function planLines(
  reloaded: ReloadedConfig,
  wasRunning: (server: string) => boolean = () => true,
): readonly string[] {
  const { isDone, added, removed, changed, settings, disabled, order } = reloaded;
  const verb = (now: string, later: string) => (isDone ? now : later);
  const lines = [
    ...added.map((name) => `${name}: ${verb('added', 'will be added')}`),
    ...removed.map((name) => `${name}: ${verb('removed', 'will be removed')}`),
    ...changed.map(({ name, keys, restart }) => {
      const isRestarted = restart && wasRunning(name);
      const how = isRestarted
        ? verb('restarted', 'will be restarted')
        : verb('changed', 'will change');
      return `${name}: ${how} (${keys.join(', ')})`;
    }),
    ...settings.map(({ key, applies }) => {
      const how =
        applies === 'live' ? verb('changed', 'will change') : 'needs a new start of holdfast serve';
      return `${key}: ${how}`;
    }),
    ...disabled.map(({ name, cause }) => `${name}: disabled, ${cause}`),
  ];
  if (lines.length === 0)
    return [order ? 'only the order of the servers differs' : 'nothing has changed'];
  return lines.map(printableLine);
}
