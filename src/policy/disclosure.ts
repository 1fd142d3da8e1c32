// How much of a failure a principal may see. The local user and operators see everything: the command,
// stderr, paths. Everyone else sees what is needed to continue: the server, the code, whether the call may
// have run, when to retry. Every path to a caller uses this function. Details that can contain more
// are replaced by the texts of the table below, so the detail of a new code is hidden until the
// code is added to the list of open codes.

import { Fault, type FaultCode, type FaultRecord, OwnTrouble } from '../kernel/fault.ts';
import { isOperatorOf, type Principal } from './principal.ts';

/** The record as this principal may see it. */
export function disclosedRecord<R extends FaultRecord>(record: R, principal: Principal): R {
  if (isOperatorOf(principal, record.server)) return record;
  const { stderr: _, ...rest } = record;
  return { ...rest, detail: openDetail(record) } as R;
}

/** The same of a fault, of which more is known than its record says. */
export function disclosedRecordOf(fault: Fault, principal: Principal): FaultRecord {
  const record = disclosedRecord(fault.record, principal);
  const { cause } = fault;
  if (record === fault.record || !(cause instanceof OwnTrouble)) return record;
  return { ...record, detail: cause.message };
}

export function disclosedFault(fault: Fault, principal: Principal): Fault {
  if (isOperatorOf(principal, fault.record.server)) return fault;
  const { code, detail, ...facts } = disclosedRecordOf(fault, principal);
  // The server's own answer is included: it is meant for the caller.
  return new Fault(code, detail, facts, code === 'rpc_error' ? fault.cause : undefined);
}

/**
 * The detail of these codes consists of the caller's own words, or of the server's answer to it.
 */
const openCodes: ReadonlySet<FaultCode> = new Set([
  'invalid_request',
  'conflict',
  'rpc_error',
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
    // Alike, whatever the reason: names of other servers, of roles and patterns are not told.
    case 'not_found':
    case 'denied':
      return 'there is no such thing here';
    // Neither the name of the role nor the key of the config: its reader can change neither.
    case 'budget_exceeded':
      return `the budget${limitText(record)} is spent${when || '; ask whoever runs this gateway for more'}`;
    case 'overloaded':
      return `${who} has no capacity for this now: a limit of calls, subscriptions or memory is reached${when}`;
    case 'start_timeout':
      return `${who} started but was not ready in time`;
    case 'circuit_open':
      return `${who} failed several times in a row${when}`;
    case 'ejected':
      return `${who} failed too often and is out of service until its operator restarts it`;
    case 'outcome_unknown': {
      const what = `${who}${tool === undefined ? '' : `/${tool}`}`;
      const then = record.answerDropped
        ? 'was answered before under this key, and that answer is no longer kept'
        : 'was sent and may have run, then no answer came';
      return `${what} ${then}; it was not repeated; check its effect before you send it again`;
    }
    case 'protocol_violation':
      return `${who} answered with something that is not valid MCP`;
    case 'auth_required':
      return `${who} requires a login, which its operator has to set up`;
    case 'internal':
      return 'internal error of the gateway';
    default:
      return `${who} cannot be started or reached${when}`;
  }
}

function limitText({ limit, limitValue }: FaultRecord): string {
  if (limit === undefined || limitValue === undefined) return '';
  return ` of ${limitValue} ${limit === 'perMinute' ? 'calls per minute' : limit}`;
}
