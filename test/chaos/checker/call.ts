// One call as its client saw it, and the words in which a fault speaks of it (contract.md 4). The
// record is read here once, from whatever came; what is not as the contract says is a violation of the
// rule `record`, and the call is judged by the rest.

import type { Who } from './access-book.ts';
import { isObject, type JsonObject } from './json-lines.ts';

export interface Call {
  readonly client: string;
  readonly gateway: string;
  /** Of a client with a token. */
  readonly who: Who | undefined;
  /** The id as JSON text, so that 1 and "1" are two. */
  readonly id: string;
  readonly nonce: string;
  readonly server: string;
  readonly tool: string;
  /** What the frame to the server has at least. */
  readonly leastBytes: number;
  readonly key: string | undefined;
  readonly sentAt: number;
  readonly place: string;
  readonly answers: Answer[];
  /** For a call without an answer. `open`: it is owed. `cut`: it is owed, and can never come. */
  fate: 'open' | 'cancelled' | 'gone' | 'cut';
  /** When its answer had begun to come, if its client then left it unread for a while. */
  unreadAt?: number;
  /** When it was no longer open. */
  turnedAt?: number;
}

export interface Answer {
  readonly at: number;
  readonly place: string;
  readonly kind: unknown;
  readonly fault: FaultRecord | undefined;
  readonly echo: unknown;
  /** The roots that the server knew, if its tool tells them. */
  readonly roots: unknown;
  /** Of a result under a key: another text is another result. */
  readonly digest: unknown;
}

export type Dispatched = 'no' | 'maybe' | 'yes';

export interface FaultRecord {
  readonly code: string;
  readonly dispatched: Dispatched;
  readonly attempts: number;
  readonly generation: number | undefined;
  readonly server: unknown;
  readonly retryable: unknown;
  /** What in it is not as the contract says. */
  readonly defects: readonly string[];
}

const DISPATCHED: readonly unknown[] = ['no', 'maybe', 'yes'];

/** Undefined if the answer carries no record at all. */
export function faultRecord(value: unknown): FaultRecord | undefined {
  if (!isObject(value)) return undefined;
  const { code, dispatched, attempts, generation } = value;
  return {
    code: String(code),
    dispatched: DISPATCHED.includes(dispatched) ? (dispatched as Dispatched) : 'maybe',
    attempts: isAmount(attempts) ? attempts : Number.POSITIVE_INFINITY,
    generation: isAmount(generation) ? generation : undefined,
    server: value['server'],
    retryable: value['retryable'],
    defects: defectsOf(value),
  };
}

function defectsOf(value: JsonObject): string[] {
  const { dispatched, attempts, generation, retryable } = value;
  const isDispatched = DISPATCHED.includes(dispatched);
  return [
    ...(isDispatched ? [] : [`dispatched is ${JSON.stringify(dispatched)}`]),
    ...(isAmount(attempts) ? [] : [`attempts is ${JSON.stringify(attempts)}`]),
    ...(generation === undefined || isAmount(generation) ? [] : ['generation is not a number']),
    ...(typeof retryable === 'boolean' ? [] : [`retryable is ${JSON.stringify(retryable)}`]),
  ];
}

function isAmount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0;
}

/** How a finding names a call, with the places of its lines. */
export function named(call: Call, answer: Answer | undefined = call.answers[0]): string {
  const { nonce, client, server, tool, place } = call;
  const who = `${nonce} of client ${client} to ${server}/${tool}`;
  return answer === undefined ? `${who} (${place})` : `${who} (${place}; ${said(answer)})`;
}

function said({ place, kind, fault }: Answer): string {
  if (fault === undefined) return `${place} ${kind}`;
  const { code, dispatched, attempts, generation } = fault;
  return `${place} ${code}, dispatched ${dispatched}, attempts ${attempts}, generation ${generation}`;
}
