// A legacy client in front of a modern server: `input_required` becomes real requests to the client,
// and its answers go back to the server as the same call with more input. The bytes of questions and
// answers are carried as they are. A client drops a request that is not one, and then never answers it:
// so what the server asks is looked at first, and a question that cannot be put ends the call. So does
// a client that does not answer in time, and a server that never has enough.

import type { Answer } from '../host/answer.ts';
import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { type Signal, Withdrawal } from '../kernel/withdrawal.ts';
import { numberOf, textOf } from '../wire/decode.ts';
import { rpcCodes } from '../wire/eras.ts';
import type { MemberChanges } from '../wire/member-edits.ts';
import { objectAt } from '../wire/parts.ts';
import { type Message, scanMessage } from '../wire/scan.ts';
import { keyOf, type Span } from '../wire/span.ts';
import { refusals, WireError } from '../wire/wire-error.ts';
import type { Incoming } from './incoming.ts';
import { resultTypeOf } from './results.ts';

const maxRounds = 8;
/** How long a client may think about a question. */
const patienceMs = 600_000;

export type RoundOutcome =
  | { readonly kind: 'answered'; readonly changes: MemberChanges }
  /** The client's own error ends the call. */
  | { readonly kind: 'refused'; readonly error: string | Buffer; readonly code: number };

export function isLegacyRound(incoming: Incoming, answer: Answer): boolean {
  return !incoming.isModern && resultTypeOf(answer) === 'input_required';
}

/** Asks the client everything the server wants to know, all at once. */
export async function askRound(
  incoming: Incoming,
  server: string,
  answer: Answer,
  rounds: number,
  clock: Clock,
): Promise<RoundOutcome> {
  if (rounds >= maxRounds) {
    const why = `${server} asked for more input ${maxRounds} times in one call and was not satisfied`;
    throw violation(server, why);
  }
  const questions = readQuestions(server, answer);
  const withdrawn = new Withdrawal();
  const withdraw = () => withdrawn.abort();
  incoming.withdrawal.addEventListener('abort', withdraw);
  using _deadline = clock.after(patienceMs, withdraw, true);
  const answers = await Promise.all(
    questions.map((question) => ask(incoming, server, question, withdrawn)),
  );
  incoming.withdrawal.removeEventListener('abort', withdraw);
  if (withdrawn.aborted) throw unanswered(server);
  const responses: string[] = [];
  for (const { key, given } of answers) {
    if (given.kind === 'error')
      return { kind: 'refused', error: given.json, code: codeOf(given.json) };
    responses.push(`${JSON.stringify(key)}:${given.json.toString('utf8')}`);
  }
  const state = answer.object?.find('requestState');
  const changes = {
    inputResponses: `{${responses.join(',')}}`,
    requestState: state ? answer.frame.subarray(state.start, state.end) : null,
  };
  return { kind: 'answered', changes };
}

interface EmbeddedQuestion {
  readonly key: string;
  readonly message: Message;
}

function readQuestions(server: string, answer: Answer): readonly EmbeddedQuestion[] {
  try {
    return questionsIn(server, answer);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw malformed(server, 'inputRequests', `was refused: ${refusals[error.reason].says}`);
  }
}

/** A modern server asks for at least one thing, or gives a state to come back with. */
function questionsIn(server: string, { frame, object }: Answer): readonly EmbeddedQuestion[] {
  const span = object?.find('inputRequests');
  const isAbsent = span === undefined || frame.toString('latin1', span.start, span.end) === 'null';
  if (isAbsent && object?.find('requestState')) return [];
  const requests = span && objectAt(frame, span);
  if (!requests) {
    throw malformed(server, 'inputRequests', isAbsent ? 'is missing' : 'is not an object');
  }
  return requests.members().map((member) => {
    const key = keyOf(frame, member);
    const what = `inputRequests[${JSON.stringify(key)}]`;
    const request = objectAt(frame, member);
    if (!request) throw malformed(server, what, 'is not an object');
    const method = request.find('method');
    const params = request.find('params');
    const meta = params && objectAt(frame, params)?.find('_meta');
    if (!isMethod(method && textOf(frame, method))) {
      throw malformed(server, `${what}.method`, 'is not the method of a request');
    }
    if (params && !isObject(frame, params)) {
      throw malformed(server, `${what}.params`, 'is not an object');
    }
    if (meta && !isObject(frame, meta)) {
      throw malformed(server, `${what}.params._meta`, 'is not an object');
    }
    return { key, message: requestIn(frame, method, params) };
  });
}

/** Not a notification: nobody would answer it. */
function isMethod(method: string | undefined): boolean {
  return method !== undefined && method !== '' && !method.startsWith('notifications/');
}

function isObject(frame: Buffer, span: Span): boolean {
  return objectAt(frame, span) !== undefined;
}

function requestIn(frame: Buffer, method: Span | undefined, params: Span | undefined): Message {
  const text = (span: Span) => frame.toString('utf8', span.start, span.end);
  const named = `"method":${method ? text(method) : '""'}`;
  const given = `"params":${params ? text(params) : '{}'}`;
  return scanMessage(Buffer.from(`{"jsonrpc":"2.0","id":0,${named},${given}}`));
}

async function ask(
  incoming: Incoming,
  server: string,
  { key, message }: EmbeddedQuestion,
  withdrawn: Signal,
) {
  const tellServer = () => {};
  const question = { server, message, caller: incoming, withdrawn, tellServer };
  return { key, given: await incoming.client.ask(question) };
}

function malformed(server: string, what: string, how: string): Fault {
  return violation(server, `${server} asked for input with a malformed message: ${what} ${how}`);
}

function violation(server: string, detail: string): Fault {
  return new Fault('protocol_violation', detail, { server, dispatched: 'yes' });
}

function unanswered(server: string): Fault {
  return new Fault(
    'timeout',
    `the client did not answer what ${server} asked within ${patienceMs / 1000} s; the call ended without it`,
    { server, dispatched: 'yes' },
  );
}

function codeOf(error: string | Buffer): number {
  const bytes = Buffer.from(error);
  const span = objectAt(bytes, { start: 0, end: bytes.length })?.find('code');
  return (span && numberOf(bytes, span)) ?? rpcCodes.internalError;
}
