// Whose roots an answer names. A server that works with roots knows those of the client it was told of,
// and its tool says which: they are the caller's own or none at all, whoever else came at the same time
// or before. A client that has told its roots is not called without them afterwards. A result that was
// kept is judged like any other, and needs no receipt of its own.

import { type Answer, type Call, named } from './call.ts';
import type { Facts } from './facts.ts';
import type { Verdict } from './verdict.ts';

/** The roots of one client, as it noted them itself. */
export interface ClientRoots {
  uris: readonly unknown[];
  /** When an answer of its own had arrived for the first time. */
  toldAt: number | undefined;
}

const OWN = 'roots: answers that name those of their client';
const NONE = 'roots: answers that name none';
const LATE = '  of these, after a wait that is as long as the gateway waits for roots';
const KEPT = 'roots: answers of them that were kept results';

/** The gateway waits so long for a client to tell its roots; one on a busy machine may be slower. */
const patienceMs = 2_000;

export class RootsRule {
  readonly #facts: Facts;
  readonly #verdict: Verdict;
  #own = 0;
  #kept = 0;

  constructor(facts: Facts, verdict: Verdict) {
    this.#facts = facts;
    this.#verdict = verdict;
  }

  /** `isReceived`: has the ledger this very call? */
  take(call: Call, roots: ClientRoots, isReceived: boolean): void {
    if (this.#facts.servers.get(call.server)?.rootsTools.has(call.tool) !== true) return;
    for (const answer of call.answers) {
      if (answer.kind === 'result') this.#judge(call, answer, roots, isReceived);
    }
  }

  /** A run in which nothing could have been found proves nothing. */
  judgeCoverage(): void {
    const servers = [...this.#facts.servers.values()];
    if (this.#own === 0 && servers.some(({ rootsTools }) => rootsTools.size > 0)) {
      this.#verdict.violates('evidence', 'no answer named the roots of any client');
    }
    const isKept = servers.some(({ rootsTools, keptTools }) =>
      [...rootsTools].some((tool) => keptTools.has(tool)),
    );
    if (this.#kept === 0 && isKept) {
      this.#verdict.violates('evidence', 'no answer that named roots was a kept result');
    }
  }

  #judge(call: Call, answer: Answer, { uris, toldAt }: ClientRoots, isReceived: boolean): void {
    const { roots } = answer;
    if (!Array.isArray(roots)) {
      this.#verdict.violates('evidence', `${named(call, answer)}: no roots were noted`);
    } else if (roots.some((uri) => !uris.includes(uri))) {
      const finding = `it names ${JSON.stringify(roots)}, the client has ${JSON.stringify(uris)}`;
      this.#verdict.violates('foreignRoots', `${named(call, answer)}: ${finding}`);
    } else if (roots.length > 0) this.#named(isReceived);
    else {
      this.#verdict.adds(NONE);
      // A kept result may be of the time before.
      if (!isReceived || toldAt === undefined || toldAt >= call.sentAt) return;
      if (answer.at - call.sentAt >= patienceMs) return this.#verdict.adds(LATE);
      const finding = `it names none, though its client had told ${JSON.stringify(uris)}`;
      this.#verdict.violates('untoldRoots', `${named(call, answer)}: ${finding}`);
    }
  }

  #named(isReceived: boolean): void {
    this.#own += 1;
    this.#verdict.adds(OWN);
    if (isReceived) return;
    this.#kept += 1;
    this.#verdict.adds(KEPT);
  }
}
