// Servers to which nothing happens but that the config around them is edited: every call of theirs ends in a
// result, and a call that is sent while another one runs meets the same process. (Between two calls it may
// end for want of work. All of its clients are of one era and class, so that one process serves them all.)

import { type Call, named } from './call.ts';
import type { ServerFacts } from './facts.ts';
import type { Trace } from './ledger-book.ts';
import type { Verdict } from './verdict.ts';

const JUDGED = 'calls to servers that nobody changed';
const BESIDE = 'calls of them that were sent while another one ran';

interface Use {
  readonly call: Call;
  readonly run: string;
  readonly answeredAt: number;
}

export class SteadyRule {
  readonly #verdict: Verdict;
  readonly #uses = new Map<ServerFacts, Use[]>();

  constructor(verdict: Verdict) {
    this.#verdict = verdict;
  }

  take(call: Call, server: ServerFacts, trace: Trace): void {
    if (!server.isSteady) return;
    this.#verdict.adds(JUDGED);
    const [answer] = call.answers;
    const run = trace.receipts[0]?.run;
    if (answer?.kind === 'result' && run !== undefined) {
      const uses = this.#uses.get(server) ?? [];
      uses.push({ call, run, answeredAt: answer.at });
      this.#uses.set(server, uses);
    }
    if (answer === undefined || answer.kind === 'result') return;
    if (server.mayBeUnknown.has(call.tool) && trace.receipts.length === 0) return;
    this.#verdict.violates('steady', `${named(call, answer)}: nothing was done to ${server.name}`);
  }

  judge(): void {
    for (const uses of this.#uses.values()) {
      uses.sort((one, other) => one.call.sentAt - other.call.sentAt);
      let running: readonly Use[] = [];
      for (const use of uses) {
        running = running.filter(({ answeredAt }) => answeredAt > use.call.sentAt);
        const [beside] = running;
        if (beside !== undefined) this.#verdict.adds(BESIDE);
        const other = running.find(({ run }) => run !== use.run);
        if (other !== undefined) {
          const finding = `${named(use.call)}: by process ${use.run}, while ${other.run} ran ${other.call.place}`;
          this.#verdict.violates('steady', finding);
        }
        running = [...running, use];
      }
    }
  }
}
