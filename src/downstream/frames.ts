// Answers and notifications of our own making, as frames. What they carry (a result, an error, the
// client's own id) goes in as bytes; only the words around it are written here.

import type { Fault } from '../kernel/fault.ts';
import { disclosedRecord } from '../policy/disclosure.ts';
import type { Principal } from '../policy/principal.ts';
import { rpcCodes } from '../wire/eras.ts';
import type { Message } from '../wire/scan.ts';
import { oneLine } from '../wire/splice.ts';
import { type Frame, maxUnderWay } from './contract.ts';

/** The client's id as it wrote it, for everything that answers it. */
export function idText({ bytes, idSpan }: Message): string {
  return idSpan ? bytes.toString('utf8', idSpan.start, idSpan.end) : 'null';
}

export function resultFrame(id: string, ...result: (string | Buffer)[]): Frame {
  return [`{"jsonrpc":"2.0","id":${id},"result":`, ...result, '}'];
}

/** The error object as it came. */
export function carriedErrorFrame(id: string, error: string | Buffer): Frame {
  return [`{"jsonrpc":"2.0","id":${id},"error":`, error, '}'];
}

export interface ErrorToSend {
  readonly code: number;
  readonly message: string;
  /** JSON text. */
  readonly data?: string;
}

/** One client must not fill our memory with requests that wait. */
export const tooManyUnderWay: ErrorToSend = {
  code: rpcCodes.internalError,
  message: `Too many requests: ${maxUnderWay} are under way; wait for answers`,
};

/** A defect of ours, of which nothing is disclosed. */
export const internalError: ErrorToSend = {
  code: rpcCodes.internalError,
  message: 'Internal error',
};

export function errorFrame(id: string, { code, message, data }: ErrorToSend): Frame {
  const head = `{"code":${code},"message":${JSON.stringify(message)}`;
  return carriedErrorFrame(id, data === undefined ? `${head}}` : `${head},"data":${data}}`);
}

export function notificationFrame(method: string, params: string | Buffer): Frame {
  return [`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":`, params, '}'];
}

export function requestFrame(id: number, method: string, params: string | Buffer): Frame {
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`;
  return [`${head},"params":`, params, '}'];
}

/** A message of a server, as it came, on one line. */
export function carriedFrame(message: Message): Frame {
  return [oneLine(message.bytes)];
}

/** A fault of a tool call as a result that the model can read. */
export function faultResult(
  fault: Fault,
  { isModern, principal }: { readonly isModern: boolean; readonly principal: Principal },
): string {
  const record = disclosedRecord(fault.record, principal);
  const result = {
    ...(isModern ? { resultType: 'complete' } : {}),
    content: [{ type: 'text', text: record.detail }],
    isError: true,
    _meta: { 'holdfast/fault': record },
  };
  return JSON.stringify(result);
}
