// The faults of the pipeline itself. Each names the server, the cause and what to do next; what
// only the pipeline knows (attempts, generation, the last stderr lines) is added here to faults
// from below.

import { nearestNames } from '../../catalog/nearest-names.ts';
import { Fault } from '../../kernel/fault.ts';
import { isRecord } from '../../kernel/json-values.ts';
import type { Access } from '../../policy/access.ts';
import type { Principal } from '../../policy/principal.ts';
import type { Connection } from '../../upstream/connection.ts';
import { valueOf as parsed } from '../../wire/decode.ts';
import type { Message } from '../../wire/scan.ts';
import type { Catalogue, OfferedTool } from '../lists/catalogue.ts';
import type { Server } from '../servers/server.ts';
import type { BegunTask } from '../tasks/begun-task.ts';
import type { Call } from './call-parts.ts';
import { subjectOf } from './operation.ts';

/** The fault with everything the call knows about itself. */
export function namedFault(fault: Fault, call: Call): Fault {
  const { server, operation } = call.request;
  const { kind, name } = operation;
  // Of a server that does not exist, nothing is known about its tools.
  const isServerUnknown = fault.code === 'not_found' && fault.record.tool === undefined;
  return fault.with({
    server,
    ...(kind === 'tool' && name !== null && !isServerUnknown ? { tool: name } : {}),
    // A call that was not dispatched itself, but shares another's answer, has the facts of that
    // one.
    ...(call.attempts === 0 ? {} : { attempts: call.attempts }),
    ...(call.generation === null ? {} : { generation: call.generation }),
  });
}

/** The facts of the call as a whole: an earlier attempt may have run, whatever the last one did. */
export function overAllAttempts(thrown: unknown, call: Call): unknown {
  const isUnsent = thrown instanceof Fault && thrown.dispatched === 'no';
  return isUnsent && call.replays > 0 ? thrown.with({ dispatched: 'maybe' }) : thrown;
}

/** `reason` is that of its signal: what a client wrote reaches the server with it. */
export function cancelledFault(server: string, reason?: unknown): Fault {
  return new Fault('cancelled', `the caller cancelled its call to ${server}`, { server }, reason);
}

/**
 * `hasLeft`: whether the server may have received the call. `isSafe`: whether it may run again
 * without harm. `isAsked`: whether the caller has set the limit itself.
 */
export function timeoutFault(
  server: string,
  limitMs: number,
  {
    hasLeft,
    isSafe,
    isAsked,
  }: { readonly hasLeft: boolean; readonly isSafe: boolean; readonly isAsked: boolean },
): Fault {
  const care = isSafe ? '' : '; check its effect before you send it again';
  const outcome = hasLeft ? `the call may still have run${care}` : 'the call was not sent';
  const remedy = isAsked
    ? 'call it with a longer timeout'
    : "raise callTimeoutMs or the tool's timeoutMs";
  return new Fault(
    'timeout',
    `${server} did not answer within ${limitMs} ms; ${outcome}; if it needs longer, ${remedy}`,
    { server },
  );
}

export function noResultFault(server: string): Fault {
  return new Fault('protocol_violation', `${server} sent an answer without a result`, {
    server,
    dispatched: 'yes',
  });
}

/** Which names of tools of this server a principal may be told. */
export function toolsShownTo(
  access: Access,
  principal: Principal,
  { name: server }: Server,
): (tool: string) => boolean {
  const asked = { action: 'list', server, kind: 'tool', method: null } as const;
  return (name) => access.isAllowed(principal, { ...asked, name });
}

/** `catalogue`: what its caller is offered; `isShown`: which names it may be told. */
export function unknownTool(
  server: Server,
  tool: string,
  catalogue: Catalogue,
  isShown: (name: string) => boolean,
): Fault {
  const detail = `Unknown tool: ${server.name} has no tool '${tool}'`;
  const facts = { server: server.name, tool };
  const close = nearestNames(tool, [...(catalogue.offered?.keys() ?? [])].filter(isShown));
  const hint = close.length > 0 ? `did you mean ${close.join(' or ')}?` : '';
  if (isShown(tool) && isForOthers(server, tool, catalogue)) {
    const why =
      'it has listed it to clients with other capabilities, such as roots, sampling or elicitation';
    return new Fault(
      'not_found',
      [`${detail} for this client`, why, hint].filter(Boolean).join('; '),
      facts,
    );
  }
  const next = server.isElsewhere ? 'list its tools again' : `run: holdfast tools ${server.name}`;
  return new Fault('not_found', `${detail}; ${hint || next}`, facts);
}

/** Whether another class of clients was listed it. What single clients were listed is not disclosed. */
function isForOthers({ offerings }: Server, tool: string, own: Catalogue): boolean {
  return own.lastKnown(tool) === undefined && offerings.sharedKeys('tools').has(tool);
}

/** The task's connection is closed: no other one knows the task. */
export function lostTaskFault({ server, tool }: BegunTask): Fault {
  return new Fault(
    'outcome_unknown',
    `the connection to ${server} that began this task is closed, and the task with it; it is unknown whether ${tool ?? 'the call'} completed; it was not repeated`,
    { server, ...(tool === null ? {} : { tool }), dispatched: 'yes' },
  );
}

/** The server's error, for code that forwards it: the cause of a fault. */
export class RpcAnswer {
  /** The error object, byte for byte. */
  readonly error: Buffer;

  constructor(error: Buffer) {
    this.error = error;
  }
}

/** The server's own error, kept as it came. */
export function rpcFault(connection: Connection, message: Message): Fault {
  const error = message.error ? parsed(message.bytes, message.error) : undefined;
  const code = isRecord(error) && typeof error['code'] === 'number' ? error['code'] : 0;
  const text = isRecord(error) && typeof error['message'] === 'string' ? error['message'] : '';
  const rpc = {
    code,
    message: text,
    ...(isRecord(error) && error['data'] !== undefined ? { data: error['data'] } : {}),
  };
  const { start = 0, end = 0 } = message.error ?? {};
  return new Fault(
    'rpc_error',
    text || `the server answered with error ${code}`,
    { dispatched: 'yes', generation: connection.generation, rpc },
    new RpcAnswer(message.bytes.subarray(start, end)),
  );
}

/** It may have run, and it was not repeated. */
export function unknownOutcome(
  server: Server,
  call: Call,
  offered: OfferedTool | undefined,
  why: string,
  cause?: Fault,
): Fault {
  const { operation } = call.request;
  const tool = subjectOf(operation);
  const isReadOnly = offered?.tool.annotations.readOnlyHint === true;
  const hint =
    isReadOnly && !server.config.trusted && !server.isElsewhere
      ? `; ${tool} has readOnlyHint: set "trusted": true for ${server.name} to have such calls repeated`
      : '; check its effect before you send it again';
  return new Fault(
    'outcome_unknown',
    `${server.name}/${tool} was sent and may have run, then ${why}; it was not repeated${hint}`,
    {
      server: server.name,
      dispatched: cause?.dispatched ?? 'maybe',
      ...(cause?.record.stderr === undefined ? {} : { stderr: cause.record.stderr }),
    },
    cause,
  );
}

/** So many calls wait for a connection already. */
export function fullFault(server: string, waiting: number): Fault {
  const detail = `${waiting} calls wait for a connection to ${server}, its queue is full; try again later or raise its queue`;
  return new Fault('overloaded', detail, { server });
}

/** All connections of its client are in use, and stay so. */
export function noSlotFault(server: string): Fault {
  const detail = `all connections to ${server} of this client are in use for calls with other roots; try again later`;
  return new Fault('overloaded', detail, { server });
}
