// The replay law. A call that may have reached a server runs again only if its tool is known to be
// safe to repeat; everything else ends in one truthful "unknown". Whether a server is restarted
// never depends on this, and never grants it. Two pure judgements: what a tool's contract is, and
// what follows from a fault.

import type { Fault } from '../kernel/fault.ts';

export interface ReplayContract {
  readonly replay: 'safe' | 'never';
  /** Whose word it is: only the operator's holds whatever the server's definition becomes. */
  readonly ground: 'operator' | 'protocol' | 'annotation' | 'default';
}

const neverByDefault: ReplayContract = { replay: 'never', ground: 'default' };
const safeByAnnotation: ReplayContract = { replay: 'safe', ground: 'annotation' };
const byOperator = {
  safe: { replay: 'safe', ground: 'operator' },
  never: { replay: 'never', ground: 'operator' },
} as const satisfies Record<string, ReplayContract>;

/** The operator's word, else the readOnlyHint of a trusted server, else never. */
export function replayContract(
  operator: 'safe' | 'never' | null,
  isTrusted: boolean,
  isReadOnly: boolean,
): ReplayContract {
  if (operator !== null) return byOperator[operator];
  return isTrusted && isReadOnly ? safeByAnnotation : neverByDefault;
}

const safeByProtocol: ReplayContract = { replay: 'safe', ground: 'protocol' };

/** For what is no tool: lists, reads, prompts and completion may be repeated, the unknown may not. */
export function protocolContract(isSafe: boolean): ReplayContract {
  return isSafe ? safeByProtocol : neverByDefault;
}

export interface Incident {
  readonly fault: Fault;
  /** The connection itself is gone; a new one may be had. */
  readonly isConnectionLost: boolean;
  readonly contract: ReplayContract;
  readonly attempts: number;
  readonly replays: number;
}

export type Sequel =
  /** It never left us: sending it on the next connection is its first dispatch. */
  | 'dispatch'
  /** It may have run, and running it again is harmless: once more, with a new id. */
  | 'replay'
  /** It may have run, and running it again may not be harmless: say so and stop. */
  | 'outcome_unknown'
  /** The fault is the answer. */
  | 'surface';

const maxAttempts = 3;
const maxReplays = 1;

export function sequelOf(incident: Incident): Sequel {
  const { fault, isConnectionLost, contract, attempts, replays } = incident;
  if (!endsUnanswered(fault, isConnectionLost)) return 'surface';
  if (fault.dispatched === 'no') {
    return isConnectionLost && attempts < maxAttempts ? 'dispatch' : 'surface';
  }
  if (contract.replay === 'never') return 'outcome_unknown';
  return replays < maxReplays && attempts < maxAttempts ? 'replay' : 'surface';
}

/** Was the server lost before it answered? A timeout, a refusal or a bad answer is something else. */
function endsUnanswered(fault: Fault, isConnectionLost: boolean): boolean {
  return fault.code === 'unavailable' || (fault.code === 'protocol_violation' && isConnectionLost);
}
