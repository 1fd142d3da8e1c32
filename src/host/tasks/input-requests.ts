// The input that a modern server requests before it can continue (`inputRequests`), in a result or
// in a task: read, and sent to the caller's client. The bytes of requests and answers are forwarded
// unchanged. A client drops an invalid request and never answers it, so the requests are validated
// first, and one that cannot be sent ends the call.

import type { Signal } from '../../kernel/cancel-signal.ts';
import { Fault } from '../../kernel/fault.ts';
import { textOf } from '../../wire/decode.ts';
import { requestFrame } from '../../wire/frames.ts';
import { objectAt } from '../../wire/parts.ts';
import { joinPieces } from '../../wire/pieces.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { memberKey, type ObjectSpan, type Span } from '../../wire/span.ts';
import { refusals, WireError } from '../../wire/wire-error.ts';
import type { Caller, ClientAnswer } from '../connections/caller.ts';

export interface InputRequest {
  readonly key: string;
  readonly message: Message;
}

export interface InputResponse {
  readonly key: string;
  readonly given: ClientAnswer;
}

/** Those in this object; none if it has no such member. Throws a Fault for invalid ones. */
export function readInputRequests(
  server: string,
  bytes: Buffer,
  object: ObjectSpan | undefined,
): readonly InputRequest[] {
  try {
    return requestsIn(server, bytes, inputRequestsOf(bytes, object));
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw malformedInput(server, 'inputRequests', `was refused: ${refusals[error.reason].says}`);
  }
}

/** Their position; undefined if they are absent or null. */
export function inputRequestsOf(bytes: Buffer, object: ObjectSpan | undefined): Span | undefined {
  const span = object?.find('inputRequests');
  return span && bytes.toString('latin1', span.start, span.end) !== 'null' ? span : undefined;
}

function requestsIn(
  server: string,
  bytes: Buffer,
  span: Span | undefined,
): readonly InputRequest[] {
  if (!span) return [];
  const requests = objectAt(bytes, span);
  if (!requests) throw malformedInput(server, 'inputRequests', 'is not an object');
  return requests.members().map((member) => {
    const key = memberKey(bytes, member);
    const what = `inputRequests[${JSON.stringify(key)}]`;
    const request = objectAt(bytes, member);
    if (!request) throw malformedInput(server, what, 'is not an object');
    const named = request.find('method');
    const method = named && textOf(bytes, named);
    const params = request.find('params');
    const meta = params && objectAt(bytes, params)?.find('_meta');
    if (!isMethod(method)) {
      throw malformedInput(server, `${what}.method`, 'is not the method of a request');
    }
    if (params && !isObject(bytes, params)) {
      throw malformedInput(server, `${what}.params`, 'is not an object');
    }
    if (meta && !isObject(bytes, meta)) {
      throw malformedInput(server, `${what}.params._meta`, 'is not an object');
    }
    return { key, message: requestIn(bytes, method, params) };
  });
}

/** Not a notification: it would not be answered. */
function isMethod(method: string | undefined): method is string {
  return method !== undefined && method !== '' && !method.startsWith('notifications/');
}

function isObject(bytes: Buffer, span: Span): boolean {
  return objectAt(bytes, span) !== undefined;
}

function requestIn(bytes: Buffer, method: string, params: Span | undefined): Message {
  const given = params ? bytes.subarray(params.start, params.end) : '{}';
  return scanMessage(joinPieces(requestFrame(0, method, given)));
}

/**
 * All at once; when `withdrawn` is raised, the client is notified for each that it has not
 * answered.
 */
export function askForInput(
  caller: Caller,
  server: string,
  requests: readonly InputRequest[],
  withdrawn: Signal,
): Promise<readonly InputResponse[]> {
  const tellServer = () => {};
  const asking = requests.map(async ({ key, message }) => {
    const question = { server, message, caller, withdrawn, tellServer };
    return { key, given: await caller.client.ask(question) };
  });
  return Promise.all(asking);
}

export function malformedInput(server: string, what: string, how: string): Fault {
  const detail = `${server} asked for input with a malformed message: ${what} ${how}`;
  return new Fault('protocol_violation', detail, { server, dispatched: 'yes' });
}
