// What a changed config does to a running instance, one line for each server and setting.

import type { ReloadedConfig } from '../../instance/operations.ts';
import { printableLine } from '../../kernel/printable.ts';

/** What is known of the servers before the change. */
export interface Before {
  readonly wasRunning: (server: string) => boolean;
  /** By an operator, though the config has it kept running. */
  readonly wasStopped: (server: string) => boolean;
}

const allRunning: Before = { wasRunning: () => true, wasStopped: () => false };

export function planLines(
  reloaded: ReloadedConfig,
  { wasRunning, wasStopped }: Before = allRunning,
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
      // One that becomes lazy is not started.
      const isStarted = restart && wasStopped(name) && !keys.includes('lazy');
      const more = isStarted ? `; it ${verb('is', 'will be')} started again: it is not lazy` : '';
      return `${name}: ${how} (${keys.join(', ')})${more}`;
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
