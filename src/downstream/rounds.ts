// A legacy client in front of a modern server: `input_required` becomes real requests to the client,
// and its answers go back to the server as the same call with more input. The bytes of questions and
// answers are carried as they are. A server that never has enough is stopped after some rounds.

import type { Answer } from '../host/answer.ts';
import { Fault } from '../kernel/fault.ts';
import { Withdrawal } from '../kernel/withdrawal.ts';
import { numberOf, textOf } from '../wire/decode.ts';
import { rpcCodes } from '../wire/eras.ts';
import type { MemberChanges } from '../wire/member-edits.ts';
import { objectAt } from '../wire/parts.ts';
import { scanMessage } from '../wire/scan.ts';
import { keyOf } from '../wire/span.ts';
import type { Incoming } from './incoming.ts';
import { resultTypeOf } from './results.ts';

const maxRounds = 8;

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
): Promise<RoundOutcome> {
  if (rounds >= maxRounds) {
    throw new Fault(
      'protocol_violation',
      `${server} asked for more input ${maxRounds} times in one call and was not satisfied`,
      { server, dispatched: 'yes' },
    );
  }
  const answers = await Promise.all(
    questionsIn(answer).map((question) => ask(incoming, server, question)),
  );
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
  readonly method: string;
  readonly params: string;
}

function questionsIn({ frame, object }: Answer): readonly EmbeddedQuestion[] {
  const span = object?.find('inputRequests');
  const requests = span && objectAt(frame, span);
  return (requests?.members() ?? []).map((member) => {
    const request = objectAt(frame, member);
    const method = request?.find('method');
    const params = request?.find('params');
    return {
      key: keyOf(frame, member),
      method: (method && textOf(frame, method)) ?? '',
      params: params ? frame.toString('utf8', params.start, params.end) : '{}',
    };
  });
}

async function ask(incoming: Incoming, server: string, { key, method, params }: EmbeddedQuestion) {
  const frame = `{"jsonrpc":"2.0","id":0,"method":${JSON.stringify(method)},"params":${params}}`;
  const message = scanMessage(Buffer.from(frame));
  const withdrawn = new Withdrawal();
  const withdraw = () => withdrawn.abort();
  incoming.withdrawal.addEventListener('abort', withdraw);
  const tellServer = () => {};
  const given = await incoming.client.ask({
    server,
    message,
    caller: incoming,
    withdrawn,
    tellServer,
  });
  incoming.withdrawal.removeEventListener('abort', withdraw);
  return { key, given };
}

function codeOf(error: string | Buffer): number {
  const bytes = Buffer.from(error);
  const span = objectAt(bytes, { start: 0, end: bytes.length })?.find('code');
  return (span && numberOf(bytes, span)) ?? rpcCodes.internalError;
}
