// What a caller is told of a later round of a call: its server has asked for input, and the call is sent again with the
// answer. The earlier round was at the server and may have had its effect, so that no fault of a later one says that the
// call was not sent, also where that round was not. Only a tool that may run again may be called again.

import { Fault, faultTable } from '../../kernel/fault.ts';
import type { Server } from '../servers/server.ts';
import { mayRunAgain } from './call-key.ts';
import type { CallParts, CallRequest } from './call-parts.ts';
import { subjectOf } from './operation.ts';
import { isUnknown, isUnrun } from './unrun-answer.ts';

/** The fault of one round as that of the whole call. */
export function overAllRounds(
  parts: Pick<CallParts, 'find'>,
  request: CallRequest,
  fault: Fault,
): Fault {
  if (!request.isLaterRound) return fault;
  const data = fault.record.rpc?.data;
  // A refusal of another Holdfast is about the round that it has refused, or it has lost the earlier one.
  const isRefusal = isUnrun(data) || isUnknown(data);
  if (fault.dispatched !== 'no' && !isRefusal) return fault;
  const server = foundNow(parts, request);
  if (server !== undefined && mayRunAgain(server, request.operation, request.caller)) {
    return isRefusal
      ? fault
      : fault.with({ dispatched: 'maybe', retryable: fault.record.retryable });
  }
  return isRefusal || faultTable[fault.code].retryable
    ? unfinished(request, fault)
    : fault.with({ dispatched: 'maybe' });
}

/** Undefined: it was removed meanwhile. */
function foundNow(parts: Pick<CallParts, 'find'>, request: CallRequest): Server | undefined {
  try {
    return parts.find(request.server, request.principal);
  } catch (thrown) {
    if (thrown instanceof Fault) return undefined;
    throw thrown;
  }
}

function unfinished({ server, operation }: CallRequest, cause: Fault): Fault {
  const { stderr, generation, attempts } = cause.record;
  return new Fault(
    'outcome_unknown',
    `${server}/${subjectOf(operation)} was sent and asked for input, and may have had its effect; then ${cause.message}; it was not repeated; check its effect before you send it again`,
    {
      ...{ server, attempts, dispatched: 'maybe' },
      ...(operation.kind === 'tool' && operation.name !== null && { tool: operation.name }),
      ...(generation !== undefined && { generation }),
      ...(stderr !== undefined && { stderr }),
    },
    cause,
  );
}
