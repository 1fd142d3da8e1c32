// How much of a failure somebody may hear. The local user hears everything: the command that was run, what
// the server wrote to stderr, its paths. Anybody else hears what it needs to go on: which server, which
// code, whether it may have run, when to try again. Every way out to a caller asks here; details that can
// hold more than that are replaced by words of the table below, so a new detail is closed until its code
// is opened.

import { Fault, type FaultCode, type FaultRecord } from '../kernel/fault.ts';
import { localUser, type Principal } from './principal.ts';

/** May it see commands, stderr, paths and process ids? */
export function seesOperations(principal: Principal): boolean {
  return principal === localUser;
}

/** The record as this principal may see it. */
export function disclosedRecord<R extends FaultRecord>(record: R, principal: Principal): R {
  if (seesOperations(principal)) return record;
  const { stderr: _, ...rest } = record;
  return { ...rest, detail: openDetail(record) } as R;
}

export function disclosedFault(fault: Fault, principal: Principal): Fault {
  if (seesOperations(principal)) return fault;
  const { code, detail, ...facts } = disclosedRecord(fault.record, principal);
  // What a server itself answered goes along: it is meant for its caller.
  return new Fault(code, detail, facts, code === 'rpc_error' ? fault.cause : undefined);
}

/** Of these the detail is made of the caller's own words, or of the server's to its caller. */
const openCodes: ReadonlySet<FaultCode> = new Set([
  'not_found',
  'invalid_request',
  'denied',
  'budget_exceeded',
  'conflict',
  'rpc_error',
  'overloaded',
  'draining',
  'timeout',
  'cancelled',
  'frame_too_large',
  'quarantined',
]);

function openDetail(record: FaultRecord): string {
  const { code, server, tool, detail, retryAfterMs } = record;
  if (openCodes.has(code)) return detail;
  const who = server || 'a server';
  const when =
    retryAfterMs === undefined ? '' : `; retry after ${Math.ceil(retryAfterMs / 1_000)} s`;
  switch (code) {
    case 'start_timeout':
      return `${who} started but was not ready in time`;
    case 'circuit_open':
      return `${who} failed several times in a row${when}`;
    case 'ejected':
      return `${who} failed too often and is out of service until its operator brings it back`;
    case 'outcome_unknown':
      return `${who}${tool === undefined ? '' : `/${tool}`} was sent and may have run, then no answer came; it was not repeated; check its effect before you send it again`;
    case 'protocol_violation':
      return `${who} answered with something that is not valid MCP`;
    case 'auth_required':
      return `${who} wants a login, which its operator has to set up`;
    case 'internal':
      return 'the gateway met a defect of its own';
    default:
      return `${who} cannot be started or reached${when}`;
  }
}
