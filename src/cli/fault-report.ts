// Prints faults on standard error, in the same form everywhere.

import type { FaultRecord } from '../kernel/fault.ts';
import { faultLines } from './render/fault-line.ts';
import type { Shell } from './shell.ts';

export function reportFaults({ err }: Shell, records: readonly FaultRecord[]): void {
  for (const record of records) for (const line of faultLines(record, err.style)) err.line(line);
}
