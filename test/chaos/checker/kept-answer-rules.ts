// What calls with one idempotency key are answered, beyond that it runs once: every result is the same one,
// and once somebody has it, who asks again later gets it too. A refusal that nothing was sent is no answer
// of the call; neither is that an instance was lost on the way, which says nothing about the key.

import { type Answer, type Call, named } from './call.ts';
import type { Verdict } from './verdict.ts';

const AGAIN = 'keys: said again after their result was there';

/** `calls`: all of one key, to one server and tool with the same arguments. */
export function judgeKeptAnswers(calls: readonly Call[], verdict: Verdict): void {
  const given = calls.flatMap((call) => call.answers.map((answer) => ({ call, answer })));
  const results = given
    .filter(({ answer }) => answer.kind === 'result')
    .sort((one, other) => one.answer.at - other.answer.at);
  const [first] = results;
  if (first === undefined) return;
  for (const { call, answer } of results) {
    if (answer.digest === first.answer.digest) continue;
    const finding = `${named(call, answer)}: another result than ${first.answer.place}`;
    verdict.violates('keptAnswer', finding);
  }
  for (const { call, answer } of given) {
    if (call.sentAt <= first.answer.at) continue;
    verdict.adds(AGAIN);
    if (!isForgotten(answer)) continue;
    const finding = `${named(call, answer)}: its result was there already (${first.answer.place})`;
    verdict.violates('keptAnswer', finding);
  }
}

function isForgotten({ kind, fault }: Answer): boolean {
  if (kind === 'result' || fault?.dispatched === 'no') return false;
  const isLostOnTheWay = fault?.code === 'outcome_unknown' && fault.server === 'holdfast';
  return !isLostOnTheWay;
}
