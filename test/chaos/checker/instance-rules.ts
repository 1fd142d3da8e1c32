// Calls of windows, whose instance ends and is followed by another: a call that was under way then may end in
// `outcome_unknown` whatever its tool, and no server can be named. That is believed only if an instance was
// really being ended while the call, or the first one with its key, was under way: the driver wrote down
// when it began to end one and when that process was seen to be gone. A window hears of the end a moment
// later, so a call that was sent soon after it is believed too, unless the window had already had a result of
// the next instance: then it knew. The same holds for workers, whose broker and orchestrator are ended and started
// again, and for gateways over HTTP whose serving process is killed: there the connection of a call breaks, and nothing
// else. What was done to each of them is in a file of its own. A rollout is no end.

import { type Call, named } from './call.ts';
import { EndBook, type Span } from './end-book.ts';
import type { Facts, ServerFacts } from './facts.ts';
import type { Judged } from './record-rules.ts';
import type { Verdict } from './verdict.ts';

const LOST = 'calls lost with an instance';
const UNHEARD = 'calls lost with an instance whose end their window had not heard of';
const CUT = 'calls whose connection broke with an instance';

/** So soon after an end a window on a busy machine may not have heard of it. */
const UNHEARD_MS = 2000;

interface Served {
  readonly sentAt: number;
  readonly answeredAt: number;
}

interface Doubt {
  readonly client: string;
  readonly sentAt: number;
  readonly finding: string;
}

export class InstanceRule {
  readonly #verdict: Verdict;
  readonly file: string;
  readonly #ends: EndBook | undefined;
  readonly #doubts: Doubt[] = [];
  /** By client: its calls that had a result. */
  readonly #served = new Map<string, Served[]>();

  /** `file`: the ends that it judges by; servers with another one are not its concern. */
  constructor(directory: string, facts: Facts, verdict: Verdict, file: string) {
    this.#verdict = verdict;
    this.file = file;
    if (![...facts.servers.values()].some((server) => this.isOurs(server))) return;
    for (const name of [LOST, UNHEARD, CUT]) verdict.adds(name, 0);
    this.#ends = new EndBook(directory, file, verdict);
  }

  isOurs({ ends }: ServerFacts): boolean {
    return ends === this.file;
  }

  /** Any call. */
  take({ client, sentAt, answers }: Call, server: ServerFacts): void {
    const [answer] = answers;
    if (!this.isOurs(server) || answer?.kind !== 'result') return;
    const served = this.#served.get(client) ?? [];
    this.#served.set(client, served);
    served.push({ sentAt, answeredAt: answer.at });
  }

  judge(): void {
    for (const doubt of this.#doubts) {
      if (this.#mayBeUnheard(doubt)) this.#verdict.adds(UNHEARD);
      else this.#verdict.violates('lostInstance', doubt.finding);
    }
  }

  /** Has it ended with an instance, truly or not? Then its record says nothing more. */
  isLost({ call, server, fault, answer, group }: Judged): boolean {
    if (!this.isOurs(server) || fault.code !== 'outcome_unknown') return false;
    const isMet = this.#ends?.meets({ from: firstSentAt(group), to: answer.at }) === true;
    // One with an attempt speaks of a server that was lost, and is judged as any other.
    if (!isMet && fault.attempts > 0) return false;
    this.#verdict.adds(LOST);
    if (!isMet) {
      const finding = `${named(call, answer)}: none was ended`;
      this.#doubts.push({ client: call.client, sentAt: firstSentAt(group), finding });
    }
    if (fault.dispatched === 'no' || fault.retryable === true) {
      this.#verdict.violates('record', `${named(call, answer)}: what is unknown may have run`);
    }
    return true;
  }

  /** Was its connection broken by the end of an instance? */
  isCutOff(call: Call, server: ServerFacts): boolean {
    const { fate, sentAt, turnedAt = sentAt } = call;
    if (!this.isOurs(server) || server.hasInstances || fate !== 'cut') return false;
    if (this.#ends?.meets({ from: sentAt, to: turnedAt }) !== true) return false;
    this.#verdict.adds(CUT);
    return true;
  }

  meets(span: Span): boolean {
    return this.#ends?.meets(span) === true;
  }

  get ends(): number {
    return this.#ends?.count ?? 0;
  }

  /**
   * May what became of it be the work of an end? It meets one; or its client has not yet had a result since the last one,
   * so that nobody may serve there.
   */
  mayHaveEnded({ client, answers }: Call, { hasInstances }: ServerFacts, sentAt: number): boolean {
    const at = answers[0]?.at ?? sentAt;
    if (this.meets({ from: sentAt, to: at })) return true;
    const ended = hasInstances ? this.#ends?.lastBefore(at) : undefined;
    return ended !== undefined && !this.#hasKnown(client, ended, sentAt);
  }

  /** By the number of ends before it: the same processes are named by the same numbers. Undefined: it meets one. */
  epochOf(call: Call, server: ServerFacts, sentAt: number): number | undefined {
    if (!this.isOurs(server) || this.#ends === undefined) return undefined;
    const to = Math.max(call.turnedAt ?? sentAt, ...call.answers.map(({ at }) => at));
    return this.#ends.epochOf({ from: sentAt, to });
  }

  #mayBeUnheard({ client, sentAt }: Doubt): boolean {
    const ended = this.#ends?.lastBefore(sentAt);
    if (ended === undefined || sentAt - ended > UNHEARD_MS) return false;
    return !this.#hasKnown(client, ended, sentAt);
  }

  /** Had it a result of the next instance before this time? */
  #hasKnown(client: string, ended: number, before: number): boolean {
    const served = this.#served.get(client) ?? [];
    return served.some((one) => one.sentAt > ended && one.answeredAt < before);
  }
}

function firstSentAt(group: readonly Call[]): number {
  return Math.min(...group.map(({ sentAt }) => sentAt));
}
