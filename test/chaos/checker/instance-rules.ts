// Calls of windows, whose instance ends and is followed by another: a call that was under way then may end in
// `outcome_unknown` whatever its tool, and no server can be named. That is believed only if an instance was
// really being ended while the call, or the first one with its key, was under way: the driver wrote down
// when it began to end one and when that process was seen to be gone.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Call, named } from './call.ts';
import type { Facts } from './facts.ts';
import { jsonLines } from './json-lines.ts';
import type { Judged } from './record-rules.ts';
import type { Verdict } from './verdict.ts';

const LOST = 'calls lost with an instance';

interface End {
  readonly from: number;
  to: number;
}

export class InstanceRule {
  readonly #verdict: Verdict;
  readonly #ends: End[] = [];

  constructor(directory: string, facts: Facts, verdict: Verdict) {
    this.#verdict = verdict;
    const isNeeded = [...facts.servers.values()].some(({ hasInstances }) => hasInstances);
    if (!isNeeded) return;
    verdict.adds(LOST, 0);
    const file = join(directory, 'instances.jsonl');
    if (existsSync(file)) this.#read(file);
    else verdict.violates('evidence', 'there are instances, but no instances.jsonl');
  }

  /** Has it ended with an instance, truly or not? Then its record says nothing more. */
  isLost({ call, server, fault, answer, group }: Judged): boolean {
    if (!server.hasInstances || fault.code !== 'outcome_unknown') return false;
    const isMet = this.#wasEnded(group, answer.at);
    // One with an attempt speaks of a server that was lost, and is judged as any other.
    if (!isMet && fault.attempts > 0) return false;
    this.#verdict.adds(LOST);
    if (!isMet) this.#verdict.violates('lostInstance', `${named(call, answer)}: none was ended`);
    if (fault.dispatched === 'no' || fault.retryable === true) {
      this.#verdict.violates('record', `${named(call, answer)}: what is unknown may have run`);
    }
    return true;
  }

  #wasEnded(group: readonly Call[], answeredAt: number): boolean {
    const sentAt = Math.min(...group.map((member) => member.sentAt));
    return this.#ends.some(({ from, to }) => from < answeredAt && to > sentAt);
  }

  #read(file: string): void {
    for (const line of jsonLines(file)) {
      const place = `instances.jsonl:${line.number}`;
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
