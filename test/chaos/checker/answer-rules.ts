// Whether a call got what it is owed: one answer, its own, and a true one. A success is true when the
// ledger has the effect done, or when it may be one that was kept; an error that a server is said to have answered is true when that server
// received the call (what the gateway itself has to say about a call comes as a fault). Faults are
// judged in record-rules.ts.

import { type Answer, type Call, named } from './call.ts';
import type { ServerFacts } from './facts.ts';
import type { Trace } from './ledger-book.ts';
import type { Verdict } from './verdict.ts';

export function judgeAnswers(
  call: Call,
  server: ServerFacts,
  isEnded: boolean,
  trace: Trace,
  verdict: Verdict,
): void {
  const { answers } = call;
  const mayBeKept = server.keptTools.has(call.tool);
  if (answers.length === 0) judgeSilence(call, isEnded, verdict);
  if (answers.length > 1) {
    const places = answers.map(({ place, kind }) => `${place} ${kind}`).join(', ');
    const finding = `${named(call, undefined)}: ${answers.length} answers: ${places}`;
    verdict.violates('beyondFirst', finding, answers.length - 1);
  }
  const mayBeUnknown = server.mayBeUnknown.has(call.tool);
  for (const answer of answers) {
    if (mayBeUnknown && answer.kind === 'rpc-error' && trace.receipts.length === 0) continue;
    judgeTruth(call, answer, trace, mayBeKept, verdict);
  }
}

function judgeSilence(call: Call, isEnded: boolean, verdict: Verdict): void {
  const { fate } = call;
  if (fate === 'cut') verdict.violates('lost', `${named(call)}: the gateway cut the connection`);
  else if (fate !== 'open') verdict.adds(`calls: ${fate} by the client`);
  else if (isEnded) verdict.violates('lost', `${named(call)}: waited to the end`);
  else verdict.adds('calls: undecided, in a history without an end');
}

function judgeTruth(
  call: Call,
  answer: Answer,
  trace: Trace,
  mayBeKept: boolean,
  verdict: Verdict,
): void {
  const { kind, fault, echo } = answer;
  const wrong = (why: string) => {
    const ledger = trace.lines.join(', ') || 'nothing in the ledger';
    verdict.violates('wrongAnswer', `${named(call, answer)}: ${why}; ${ledger}`);
  };
  if (echo !== undefined && echo !== call.nonce) wrong(`it carries ${JSON.stringify(echo)}`);
  switch (kind) {
    case 'result':
    case 'tool-error':
      if (trace.done === 0 && !(mayBeKept && kind === 'result')) wrong('the effect was never done');
      return;
    case 'rpc-error':
      if (trace.receipts.length === 0) wrong('no server received the call');
      return;
    case 'fault':
      if (fault === undefined) wrong('a fault without its record');
      return;
    default:
      verdict.violates('evidence', `${answer.place}: no answer is of the kind ${kind}`);
  }
}
