// What a client is told when its request cannot be answered: the words and codes that the methods
// share, and how whatever went wrong on the way becomes the answer.

import { RpcAnswer } from '../host/call/call-faults.ts';
import { faultFrom } from '../kernel/fault.ts';
import { textOf } from '../wire/decode.ts';
import { rpcCodes } from '../wire/eras.ts';
import { WireError } from '../wire/wire-error.ts';
import type { ErrorToSend } from './frames.ts';
import type { Incoming } from './incoming.ts';
import { faultError } from './relay/relay.ts';

export function methodNotFound(method: string): ErrorToSend {
  return { code: rpcCodes.methodNotFound, message: `Method not found: ${method}` };
}

export function invalidParams(what: string): ErrorToSend {
  return { code: rpcCodes.invalidParams, message: `Invalid params: ${what}` };
}

/** A parameter that must be text; undefined if it is not there, or not text. */
export function textParam(
  { message }: Incoming,
  key: 'name' | 'uri' | 'taskId' | 'level',
): string | undefined {
  const span = message.paramsObject?.find(key);
  return span && textOf(message.bytes, span);
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
