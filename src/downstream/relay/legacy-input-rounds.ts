// A legacy client with a modern server: `input_required` becomes requests to the client, and its
// answers go back to the server as the same call with more input. A client that does not answer in
// time ends the call, and so does a server that asks too often.

import type { Answer } from '../../host/call/answer.ts';
import { cancelledFault } from '../../host/call/call-faults.ts';
import {
  askForInput,
  type InputRequest,
  inputRequestsOf,
  malformedInput,
  readInputRequests,
} from '../../host/tasks/input-requests.ts';
import { CancelSignal } from '../../kernel/cancel-signal.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Fault } from '../../kernel/fault.ts';
import { numberOf } from '../../wire/decode.ts';
import { rpcCodes } from '../../wire/eras.ts';
import type { MemberChanges } from '../../wire/member-edits.ts';
import { objectAt } from '../../wire/parts.ts';
import type { Incoming } from '../incoming.ts';
import { asksForInput } from './results.ts';

const maxRounds = 8;
/** How long a client may take to answer. */
const answerMs = 600_000;

export type RoundOutcome =
  | { readonly kind: 'answered'; readonly changes: MemberChanges }
  /** The client's own error ends the call. */
  | { readonly kind: 'refused'; readonly error: string | Buffer; readonly code: number };

export function isLegacyRound(incoming: Incoming, answer: Answer): boolean {
  return !incoming.isModern && asksForInput(answer);
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
    const why = `${server} asked for more input ${maxRounds} times in one call, which is the limit`;
    throw violation(server, why);
  }
  const questions = readQuestions(server, answer);
  const withdrawn = new CancelSignal();
  const withdraw = () => withdrawn.abort();
  incoming.cancelSignal.addEventListener('abort', withdraw);
  using _deadline = clock.after(answerMs, withdraw, true);
  const answers = await askForInput(incoming, server, questions, withdrawn);
  incoming.cancelSignal.removeEventListener('abort', withdraw);
  if (incoming.cancelSignal.aborted) throw cancelledFault(server).with({ dispatched: 'yes' });
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

/** A modern server asks for at least one thing, or gives a state to come back with. */
function readQuestions(server: string, { frame, object }: Answer): readonly InputRequest[] {
  if (!inputRequestsOf(frame, object) && !object?.find('requestState')) {
    throw malformedInput(server, 'inputRequests', 'is missing');
  }
  return readInputRequests(server, frame, object);
}

function violation(server: string, detail: string): Fault {
  return new Fault('protocol_violation', detail, { server, dispatched: 'yes' });
}

function unanswered(server: string): Fault {
  return new Fault(
    'timeout',
    `the client did not answer a request of ${server} within ${answerMs / 1000} s; the call was ended`,
    { server, dispatched: 'yes' },
  );
}

function codeOf(error: string | Buffer): number {
  const bytes = Buffer.from(error);
  const span = objectAt(bytes, { start: 0, end: bytes.length })?.find('code');
  return (span && numberOf(bytes, span)) ?? rpcCodes.internalError;
}
