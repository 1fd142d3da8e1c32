// What the checker counts and says. Every rule has a figure whose goal is 0 and a list of findings; a
// finding names the call and the lines of the run's files that show it. All are counted, twenty are
// said, in turns over the rules, so that one noisy rule does not hide a quiet one. The rules themselves
// are in the files called *-rules.ts.

import { exactly, type Figure, fact, type Report } from '../../proof/report.ts';

/** Each rule by its figure: what is counted, and must not happen at all. */
const RULES = {
  lost: 'lost: calls that never got an answer',
  duplicated: 'duplicated effects of tools that are not safe',
  beyondFirst: 'answers beyond the first, or to ids never asked',
  wrongAnswer: 'wrong answers',
  noButLeft: 'wrong dispatched (1): no, but it had left',
  yesUnread: 'wrong dispatched (2): yes, but never received',
  maybeNeverLeft: 'wrong dispatched (3): maybe, but it never left our queue',
  attempts: 'receipts beyond the attempts of the record',
  record: 'fault records against the contract',
  key: 'runs of one idempotency key beyond the first',
  keptAnswer: 'keys that were not answered as before',
  lostInstance: 'calls lost with an instance that nobody had ended',
  rollout: 'calls that a rollout has cost',
  overspent: 'calls beyond a budget',
  underspent: 'calls that a budget refused too early',
  steady: 'calls or processes of servers that nobody changed, lost',
  foreignRoots: 'answers that name the roots of another client',
  untoldRoots: 'answers without the roots that their client had told',
  foreignBytes: 'foreign bytes: told to a principal, made for another or by what it may not use',
  deniedRan: 'denied calls that ran',
  afterRevocation: 'calls and streams of a token that is known to be revoked',
  wronglyDenied: 'calls that were refused though allowed all the time',
  misrouted: 'calls that arrived at another server or tool',
  unasked: 'effects that nobody asked for',
  generation: 'generations that name two processes',
  evidence: 'gaps in the evidence',
} as const;

export type Rule = keyof typeof RULES;

/** In this order, by how they begin; the others follow as they came. */
const FACTS = ['clients', 'calls', 'answers', 'dispatched', 'ledger'];
const FINDINGS_SHOWN = 20;

export class Verdict {
  readonly #counts = new Map<Rule, number>();
  readonly #findings = new Map<Rule, string[]>();
  readonly #facts = new Map<string, number>();

  /** `count`: how many violations this one finding stands for. */
  violates(rule: Rule, finding: string, count = 1): void {
    this.#counts.set(rule, this.count(rule) + count);
    const kept = this.#findings.get(rule) ?? [];
    if (kept.length < FINDINGS_SHOWN) kept.push(finding);
    this.#findings.set(rule, kept);
  }

  /** A figure that only informs. */
  adds(name: string, amount = 1): void {
    this.#facts.set(name, (this.#facts.get(name) ?? 0) + amount);
  }

  count(rule: Rule): number {
    return this.#counts.get(rule) ?? 0;
  }

  /** Without facts nothing was judged, and no rule may look as if it had been kept. */
  report(title: string, isJudged: boolean): Report {
    const facts = [...this.#facts].sort(([one], [other]) => placeOf(one) - placeOf(other));
    const informing = facts.map(([name, value]) => fact(name, value));
    return { title, figures: [...informing, ...this.#goals(isJudged)], findings: this.#said() };
  }

  #goals(isJudged: boolean): Figure[] {
    const judged = rules().filter((rule) => isJudged || rule === 'evidence');
    return judged.map((rule) => exactly(RULES[rule], this.count(rule), 0));
  }

  #said(): string[] {
    const lists = rules().map((rule) =>
      (this.#findings.get(rule) ?? []).map((finding) => `[${rule}] ${finding}`),
    );
    const inTurns = Array.from({ length: FINDINGS_SHOWN }, (_, turn) =>
      lists.flatMap((list) => list.slice(turn, turn + 1)),
    ).flat();
    const shown = inTurns.slice(0, FINDINGS_SHOWN);
    const all = lists.reduce((sum, list) => sum + list.length, 0);
    return all > shown.length ? [...shown, `and more: see the figures`] : shown;
  }
}

function rules(): Rule[] {
  return Object.keys(RULES) as Rule[];
}

function placeOf(name: string): number {
  const place = FACTS.findIndex((beginning) => name.startsWith(beginning));
  return place === -1 ? FACTS.length : place;
}
