// The errors for requests that cannot be answered: the messages and codes that the methods share,
// and how an error becomes the answer.

import { RpcAnswer } from '../host/call/call-faults.ts';
import { Fault, faultFrom } from '../kernel/fault.ts';
import { disclosedRecordOf } from '../policy/disclosure.ts';
import type { Principal } from '../policy/principal.ts';
import { textOf } from '../wire/decode.ts';
import { rpcCodes } from '../wire/eras.ts';
import type { ErrorToSend } from '../wire/frames.ts';
import { WireError } from '../wire/wire-error.ts';
import { maxUnderWay } from './contract.ts';
import type { Incoming } from './incoming.ts';

/** A request that is refused because too many run: it has not run, and may be sent again. */
export function tooMany(message: string): ErrorToSend {
  const { record } = new Fault('overloaded', message);
  return { code: rpcCodes.internalError, message, data: JSON.stringify(record) };
}

/** One client must not fill our memory with requests that wait. */
export const tooManyUnderWay: ErrorToSend = tooMany(
  `Too many requests: ${maxUnderWay} are under way; wait for answers`,
);

/** An internal error, of which nothing is disclosed. */
export const internalError: ErrorToSend = {
  code: rpcCodes.internalError,
  message: 'Internal error',
};

export function methodNotFound(method: string): ErrorToSend {
  return { code: rpcCodes.methodNotFound, message: `Method not found: ${method}` };
}

export function invalidParams(what: string): ErrorToSend {
  return { code: rpcCodes.invalidParams, message: `Invalid params: ${what}` };
}

/**
 * A follow-up whose state is not known here, perhaps because the process that gave it has ended: the call that it was to
 * continue was sent.
 */
export function unknownState(why: string): ErrorToSend {
  const { record } = new Fault('outcome_unknown', why, { dispatched: 'maybe' });
  return { code: rpcCodes.invalidParams, message: why, data: JSON.stringify(record) };
}

/** A parameter that must be text; undefined if it is not there, or not text. */
export function textParam(
  { message }: Incoming,
  key: 'name' | 'uri' | 'taskId' | 'level',
): string | undefined {
  const span = message.paramsObject?.find(key);
  return span && textOf(message.bytes, span);
}

/** A fault of a tool call as a result that the model can read. */
export function faultResult(
  fault: Fault,
  { isModern, principal }: { readonly isModern: boolean; readonly principal: Principal },
): string {
  const record = disclosedRecordOf(fault, principal);
  const result = {
    ...(isModern ? { resultType: 'complete' } : {}),
    content: [{ type: 'text', text: record.detail }],
    isError: true,
    _meta: { 'holdfast/fault': record },
  };
  return JSON.stringify(result);
}

/** A fault of anything but a tool call. */
export function faultError(fault: Fault, principal: Principal): ErrorToSend {
  const record = disclosedRecordOf(fault, principal);
  return { code: rpcCodes.internalError, message: record.detail, data: JSON.stringify(record) };
}

/** Hidden and missing names get the same answer. */
export function unknownName(
  what: 'tool' | 'prompt',
  { message }: Incoming,
  calledAs?: string,
): ErrorToSend {
  const span = message.paramsObject?.find('name');
  const name = calledAs ?? (span && textOf(message.bytes, span));
  const message_ =
    name === undefined ? `Invalid params: name is missing` : `Unknown ${what}: ${name}`;
  return { code: rpcCodes.invalidParams, message: message_ };
}

/** What was thrown becomes the answer. */
export function refuseRequest(incoming: Incoming, thrown: unknown): void {
  // Something in the request, below what is read of every message, can be read in two ways.
  if (thrown instanceof WireError) {
    return incoming.error({ code: thrown.rpcCode, message: thrown.message });
  }
  const fault = faultFrom(thrown);
  if (fault.cause instanceof RpcAnswer) {
    const code = fault.record.rpc?.code ?? rpcCodes.internalError;
    return incoming.carriedError(fault.cause.error, code);
  }
  incoming.error(faultError(fault, incoming.principal));
}
