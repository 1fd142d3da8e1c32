// Whether a fault record is true: its words against each other as contract.md 4 has them, and against
// the ledger. Two of the three kinds of a wrong `dispatched` are decided here, because the ledger alone
// decides them: `no` although it had left, `yes` although nobody received it. The third is in
// pipe-evidence.ts and window-evidence.ts.
//
// `no` and a receipt: on a pipe `no` means that the frame was in our own queue, so any receipt refutes
// it. Over HTTP a server that turns a request away (401, 429, ...) has read it, and `no` is right; there
// only an effect refutes it. Calls that share an idempotency key share their effect: one of them may
// truly say `no` before another runs, so `no` is refuted only if none of them says anything else.

import { type Answer, type Call, type FaultRecord, named } from './call.ts';
import type { ServerFacts } from './facts.ts';
import type { Trace } from './ledger-book.ts';
import type { Verdict } from './verdict.ts';

type Kinds = Readonly<Record<string, 'unsent' | 'gate' | 'answered' | 'any'>>;

/**
 * What a code says about sending. `gate`: refused before any server is looked at. `unsent`: refused
 * where a server would have been used; only the second attempt of a safe call may end so after a first
 * one that was sent. `answered`: the server itself spoke.
 */
const CODES: Kinds = {
  not_found: 'gate',
  invalid_request: 'gate',
  denied: 'gate',
  budget_exceeded: 'gate',
  conflict: 'gate',
  quarantined: 'gate',
  unavailable: 'unsent',
  start_timeout: 'unsent',
  circuit_open: 'unsent',
  ejected: 'unsent',
  overloaded: 'unsent',
  draining: 'unsent',
  auth_required: 'unsent',
  rpc_error: 'answered',
  frame_too_large: 'answered',
  protocol_violation: 'any',
  timeout: 'any',
  cancelled: 'any',
  outcome_unknown: 'any',
  internal: 'any',
};

export interface Judged {
  readonly call: Call;
  readonly answer: Answer;
  readonly fault: FaultRecord;
  readonly server: ServerFacts;
  readonly trace: Trace;
  /** All calls of this nonce: more than one only with an idempotency key. */
  readonly group: readonly Call[];
}

export function judgeRecord(judged: Judged, verdict: Verdict): void {
  const { call, answer, fault, trace } = judged;
  const ledger = trace.lines.join(', ') || 'nothing in the ledger';
  for (const why of contradictions(judged)) {
    verdict.violates('record', `${named(call, answer)}: ${why}; ${ledger}`);
  }
  const left = fault.dispatched === 'no' ? howItLeft(judged) : undefined;
  if (left !== undefined) {
    verdict.violates('noButLeft', `${named(call, answer)}: ${left}: ${ledger}`);
  }
  if (fault.dispatched === 'yes' && trace.receipts.length === 0) {
    verdict.violates('yesUnread', `${named(call, answer)}: no server received it`);
  }
  if (judged.group.length === 1 && trace.receipts.length > fault.attempts) {
    const finding = `${trace.receipts.length} receipts, ${fault.attempts} attempts`;
    verdict.violates('attempts', `${named(call, answer)}: ${finding}: ${ledger}`);
  }
}

/** The words of the record that cannot stand beside each other. */
function contradictions(judged: Judged): string[] {
  const { fault } = judged;
  const { code, dispatched, attempts } = fault;
  const found = [...fault.defects];
  if (CODES[code] === undefined) found.push(`there is no code ${code}`);
  if (!namesItsServer(judged)) found.push(`names ${fault.server}`);
  if (dispatched !== 'no' && attempts === 0) found.push('dispatched, but without an attempt');
  if (code === 'internal') found.push('a defect of ours, by its own word');
  return [...found, ...ofCode(judged)];
}

/**
 * A window that gets no instance knows no server, and names Holdfast itself: nothing was sent to anybody. A worker
 * names the orchestrator that it does not reach.
 */
function namesItsServer({ call, fault, server }: Judged): boolean {
  if (fault.server === call.server || fault.server === '') return true;
  if (server.reachedBy !== undefined && fault.server === server.reachedBy) return true;
  const isUnsent = fault.dispatched === 'no' && fault.attempts === 0;
  return fault.server === 'holdfast' && server.hasInstances && isUnsent;
}

function ofCode({ fault, server, call, trace, group }: Judged): string[] {
  const { code, dispatched, attempts, retryable } = fault;
  const isSafe = server.safeTools.has(call.tool);
  const isSent = dispatched !== 'no';
  const isHttp = server.transport === 'http';
  switch (CODES[code]) {
    case 'gate':
      if (isSent) return [`${code} is decided before anything is sent`];
      return trace.receipts.length > 0 && group.length === 1 ? [`${code}, but it arrived`] : [];
    case 'unsent':
      // A status such as 503 is an answer of a kind, and the contract leaves its code open.
      if (!isSent || (isSafe && attempts > 0) || (isHttp && code === 'unavailable')) return [];
      return [`${code} says that it was not sent`];
    case 'answered':
      if (dispatched === 'yes' || (isHttp && code === 'frame_too_large')) return [];
      return [`${code} is the server's word, so dispatched is yes`];
    default:
  }
  if (code !== 'outcome_unknown') return [];
  return [
    ...(isSent ? [] : ['nothing is unknown about what was not sent']),
    ...(isSafe ? ['the tool is safe to repeat'] : []),
    ...(retryable === true ? ['outcome_unknown must not be retried'] : []),
  ];
}

/** Undefined if nothing shows that it left. */
function howItLeft({ trace, server, group, call }: Judged): string | undefined {
  const others = group.filter((other) => other !== call);
  const mayBeOfAnother = others.some(({ answers }) => answers[0]?.fault?.dispatched !== 'no');
  if (mayBeOfAnother) return undefined;
  if (trace.begun > 0) return 'it ran';
  if (trace.receipts.length > 0 && !server.turnsAway) return 'it was received';
  return undefined;
}
