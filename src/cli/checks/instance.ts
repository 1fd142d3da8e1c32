// Checks of the running instance: do the windows that use it have the variables that its servers get, does it
// use the config file as it is now, and can it write down the calls that it should?

import type { AuditStatus } from '../../host/status.ts';
import type { InstanceStatus } from '../../instance/operations.ts';
import type { BrokerState } from '../../observe/broker-state.ts';
import { gapsRemedy, gapsText, unwrittenText } from '../render/audit-lines.ts';
import { brokerRemedy, brokerText, isTrouble } from '../render/broker-line.ts';
import { differenceText } from '../render/status-page.ts';
import { needsStart, notUsed } from '../render/used-config.ts';
import { type Check, finding, note, ok } from './check.ts';

/** Nothing if no instance runs. `now` is wall time. */
export function checkInstance(status: InstanceStatus | undefined, now: number): readonly Check[] {
  if (status === undefined) return [];
  const windows = (status.differing ?? []).map((one) => note('instance', differenceText(one)));
  const waiting = needsStart(status);
  const settings = waiting ? [finding('instance', waiting.told, waiting.remedy)] : [];
  return [
    ...fileChecks(status, now),
    ...settings,
    ...windows,
    ...checkBroker(status.broker ?? null, now),
    ...checkAudit(status.audit),
  ];
}

/** The instance knows best; without one `checkBrokerOf` asks the broker. */
function checkBroker(broker: BrokerState | null, now: number): readonly Check[] {
  if (broker === null) return [];
  const text = brokerText(broker, now);
  if (!isTrouble(broker)) return [ok('broker', text)];
  return [finding('broker', text, brokerRemedy(broker.state === 'refused'))];
}

/** A file that cannot be used is a finding of its own. */
function fileChecks(status: InstanceStatus, now: number): readonly Check[] {
  const found = notUsed(status, now);
  if (found === undefined || status.usedConfig?.problem?.kind === 'invalid') return [];
  return [finding('instance', found.told, found.remedy)];
}

/** An instance of an older version says nothing of it. */
function checkAudit(audit: AuditStatus | undefined): readonly Check[] {
  if (audit === undefined || audit.mode === 'off') return [];
  const { problem, lost, refused, gaps = 0 } = audit;
  if (problem !== null) return [finding('audit', problem, 'see: holdfast status')];
  if (gaps > 0) return [finding('audit', gapsText(gaps), gapsRemedy)];
  const missing = unwrittenText(lost, refused);
  return missing === undefined ? [ok('audit', 'calls are written down')] : [note('audit', missing)];
}
