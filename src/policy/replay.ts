// The replay rules. A call that may have reached a server runs again only if its tool is known to
// be safe to repeat; otherwise it ends in `outcome_unknown`. Whether a server is restarted does not
// depend on this. Two pure functions: one gives the replay contract of a tool, the other whether a
// call is sent again after a fault. `host/call/attempts.ts` carries it out; it also refuses to repeat a
// call whose tool has changed meanwhile.

import type { Fault } from '../kernel/fault.ts';

export interface ReplayContract {
  readonly replay: 'safe' | 'never';
  /**
   * Where the contract comes from: only the operator's setting holds whatever the server's
   * definition becomes.
   */
  readonly ground: 'operator' | 'protocol' | 'annotation' | 'default';
}

const neverByDefault: ReplayContract = { replay: 'never', ground: 'default' };
const safeByAnnotation: ReplayContract = { replay: 'safe', ground: 'annotation' };
const byOperator = {
  safe: { replay: 'safe', ground: 'operator' },
  never: { replay: 'never', ground: 'operator' },
} as const satisfies Record<string, ReplayContract>;

/** The operator's setting, else the readOnlyHint of a trusted server, else never. */
export function replayContract(
  operator: 'safe' | 'never' | null,
  isTrusted: boolean,
  isReadOnly: boolean,
): ReplayContract {
  if (operator !== null) return byOperator[operator];
  return isTrusted && isReadOnly ? safeByAnnotation : neverByDefault;
}

const safeByProtocol: ReplayContract = { replay: 'safe', ground: 'protocol' };

/**
 * For requests other than tool calls: lists, reads, prompts and completion may be repeated, unknown
 * methods may not.
 */
export function protocolContract(isSafe: boolean): ReplayContract {
  return isSafe ? safeByProtocol : neverByDefault;
}

export interface Incident {
  readonly fault: Fault;
  /** The connection is lost; a new one can be opened. */
  readonly isConnectionLost: boolean;
  /** The connection itself has tried it again, for as long as that is done. */
  readonly isTriedOut?: boolean;
  readonly contract: ReplayContract;
  readonly attempts: number;
  readonly replays: number;
}

export type AfterFault =
  /** It was never sent: sending it on the next connection is its first dispatch. */
  | 'send'
  /** It may have run, and repeating it is harmless: send it once more, with a new id. */
  | 'replay'
  /** It may have run, and repeating it may be harmful: report that and stop. */
  | 'outcome_unknown'
  /** The fault is the answer. */
  | 'report';

const maxAttempts = 3;
const maxReplays = 1;

export function afterFault(incident: Incident): AfterFault {
  const { fault, isConnectionLost, isTriedOut = false, contract, attempts, replays } = incident;
  const mayTry = !isTriedOut && attempts < maxAttempts;
  if (!endsUnanswered(fault, isConnectionLost)) return 'report';
  if (fault.dispatched === 'no') {
    return isConnectionLost && mayTry ? 'send' : 'report';
  }
  if (contract.replay === 'never') return 'outcome_unknown';
  return replays < maxReplays && mayTry ? 'replay' : 'report';
}

/**
 * Whether the server was lost before it answered. A timeout, a refusal or a bad answer is something
 * else.
 */
function endsUnanswered(fault: Fault, isConnectionLost: boolean): boolean {
  return fault.code === 'unavailable' || (fault.code === 'protocol_violation' && isConnectionLost);
}
