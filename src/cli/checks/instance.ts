// Checks of the running instance: do the windows that use it have the variables that its servers get?

import type { InstanceStatus } from '../../instance/operations.ts';
import { differenceText } from '../render/status-page.ts';
import { type Check, note } from './check.ts';

/** Nothing if no instance runs. */
export function checkInstance(status: InstanceStatus | undefined): readonly Check[] {
  return (status?.differing ?? []).map((window) => note('instance', differenceText(window)));
}
