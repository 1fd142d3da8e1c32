// Checks of the running instance: do the windows that use it have the variables that its servers get, and does it
// use the config file as it is now?

import type { InstanceStatus } from '../../instance/operations.ts';
import { differenceText } from '../render/status-page.ts';
import { notUsed } from '../render/used-config.ts';
import { type Check, finding, note } from './check.ts';

/** Nothing if no instance runs. `now` is wall time. */
export function checkInstance(status: InstanceStatus | undefined, now: number): readonly Check[] {
  if (status === undefined) return [];
  const windows = (status.differing ?? []).map((one) => note('instance', differenceText(one)));
  return [...fileChecks(status, now), ...windows];
}

/** A file that cannot be used is a finding of its own. */
function fileChecks(status: InstanceStatus, now: number): readonly Check[] {
  const found = notUsed(status, now);
  if (found === undefined || status.usedConfig?.problem?.kind === 'invalid') return [];
  return [finding('instance', found.told, found.remedy)];
}
