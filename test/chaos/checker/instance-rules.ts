// Calls of windows, whose instance ends and is followed by another: a call that was under way then may end in
// `outcome_unknown` whatever its tool, and no server can be named. That is believed only if an instance was
// really being ended while the call, or the first one with its key, was under way: the driver wrote down
// when it began to end one and when that process was seen to be gone. A window hears of the end a moment
// later, so a call that was sent soon after it is believed too, unless the window had already had a result of
// the next instance: then it knew. The same holds for workers, whose broker and orchestrator are ended and started
// again; what was done to them is in a file of its own.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Call, named } from './call.ts';
import type { Facts, ServerFacts } from './facts.ts';
import { jsonLines } from './json-lines.ts';
import type { Judged } from './record-rules.ts';
import type { Verdict } from './verdict.ts';

const LOST = 'calls lost with an instance';
const UNHEARD = 'calls lost with an instance whose end their window had not heard of';

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

interface End {
  readonly from: number;
  to: number;
}

export class InstanceRule {
  readonly #verdict: Verdict;
  readonly #file: string;
  readonly #ends: End[] = [];
  readonly #doubts: Doubt[] = [];
  /** By client: its calls that had a result. */
  readonly #served = new Map<string, Served[]>();

  /** `file`: the ends that it judges by; servers with another one are not its concern. */
  constructor(directory: string, facts: Facts, verdict: Verdict, file: string) {
    this.#verdict = verdict;
    this.#file = file;
    if (![...facts.servers.values()].some((server) => this.#isOurs(server))) return;
    verdict.adds(LOST, 0);
    verdict.adds(UNHEARD, 0);
    if (existsSync(join(directory, file))) this.#read(join(directory, file));
    else verdict.violates('evidence', `there are instances, but no ${file}`);
  }

  /** Any call. */
  take({ client, sentAt, answers }: Call, server: ServerFacts): void {
    const [answer] = answers;
    if (!this.#isOurs(server) || answer?.kind !== 'result') return;
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
    if (!this.#isOurs(server) || fault.code !== 'outcome_unknown') return false;
    const isMet = this.#wasEnded(group, answer.at);
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

  #isOurs({ hasInstances, ends }: ServerFacts): boolean {
    return hasInstances && ends === this.#file;
  }

  #wasEnded(group: readonly Call[], answeredAt: number): boolean {
    const sentAt = firstSentAt(group);
    return this.#ends.some(({ from, to }) => from < answeredAt && to > sentAt);
  }

  #mayBeUnheard({ client, sentAt }: Doubt): boolean {
    const end = this.#ends.findLast(({ to }) => to <= sentAt);
    if (end === undefined || sentAt - end.to > UNHEARD_MS) return false;
    const served = this.#served.get(client) ?? [];
    return !served.some((one) => one.sentAt > end.to && one.answeredAt < sentAt);
  }

  #read(file: string): void {
    for (const line of jsonLines(file)) {
      const place = `${this.#file}:${line.number}`;
      const open =
        this.#ends.at(-1)?.to === Number.POSITIVE_INFINITY ? this.#ends.at(-1) : undefined;
      const { t, event } = line.kind === 'torn' ? {} : line.value;
      if (event === 'ending' && open === undefined) {
        this.#ends.push({ from: Number(t), to: Number.POSITIVE_INFINITY });
      } else if (event === 'ended' && open !== undefined) open.to = Number(t);
      else this.#verdict.violates('evidence', `${place}: ${event} is out of turn`);
    }
  }
}

function firstSentAt(group: readonly Call[]): number {
  return Math.min(...group.map(({ sentAt }) => sentAt));
}
