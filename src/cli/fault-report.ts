// Prints faults on standard error, in the same form everywhere.

import type { FaultRecord } from '../kernel/fault.ts';
import type { NextSteps } from './next-step.ts';
import { faultLines } from './render/fault-line.ts';
import type { Shell } from './shell.ts';

export function reportFaults({ err, steps }: Shell, records: readonly FaultRecord[]): void {
  for (const record of records) {
    for (const line of faultLines(advised(record, steps), err.style, steps)) err.line(line);
  }
}

/** With the config that the user has named in the commands that it advises. */
export function advised(record: FaultRecord, steps: NextSteps): FaultRecord {
  // What a server has answered is not ours.
  return record.code === 'rpc_error' ? record : { ...record, detail: steps(record.detail) };
}
