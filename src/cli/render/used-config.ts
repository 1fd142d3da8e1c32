// What is said where an instance does not use its config file as it is now: since when it uses the config before,
// and how the change is taken over.

import type { InstanceStatus } from '../../instance/operations.ts';
import { shellWord } from '../shell-word.ts';
import { momentText } from './quantity.ts';

export interface NotUsed {
  readonly told: string;
  readonly remedy: string;
}

/** Undefined if it uses the file, or is of a version that does not tell. `now` is wall time. */
export function notUsed({ config, usedConfig }: InstanceStatus, now: number): NotUsed | undefined {
  const problem = usedConfig?.problem ?? null;
  if (config === null || usedConfig === undefined || problem === null) return undefined;
  const runs = runsText({ usedConfig }, now);
  switch (problem.kind) {
    case 'untrusted':
      return {
        told: `${config} has changed since it was trusted; ${runs}`,
        remedy: `look at the change, then run: holdfast trust ${shellWord(config)}, and after that: holdfast reload`,
      };
    case 'waiting':
      return {
        told: `${config} has changed and was trusted again; ${runs}`,
        remedy: 'take the change over with: holdfast reload',
      };
    case 'invalid':
      return { told: `${config} cannot be used: ${problem.detail}; ${runs}`, remedy: 'correct it' };
  }
}

/** What is used; an older instance does not tell since when. */
export function runsText({ usedConfig }: Pick<InstanceStatus, 'usedConfig'>, now: number): string {
  if (usedConfig === undefined) return 'the instance runs the config before';
  return `the instance runs the config of ${momentText(usedConfig.since, now)}`;
}

/** The same in one line. */
export function notUsedText(status: InstanceStatus, now: number): string | undefined {
  const found = notUsed(status, now);
  return found && `${found.told}; ${found.remedy}`;
}

/** Settings that the file has and a running instance cannot take over; undefined if there are none. */
export function needsStart({ needsStart: keys = [] }: InstanceStatus): NotUsed | undefined {
  if (keys.length === 0) return undefined;
  const told = `${keys.join(', ')}: changed in the config, and still as it was in the running instance`;
  const remedy = 'it needs a new start: end it with: holdfast shutdown, then start it again';
  return { told, remedy };
}
