// Calls that reached a server after the token of their caller was over. What the gateway had written before lies
// in the pipe or socket of a process that does not read (it stands still, or it is busy), and nobody can take it
// back: such a receipt says nothing about the gateway. So a late receipt counts only if the call cannot have been
// written in time: the process began later, or it had already answered a call that was sent later, and so had
// read everything that lay there by then. No duration decides.

import type { Call } from './call.ts';
import type { LedgerBook, Trace } from './ledger-book.ts';
import type { Verdict } from './verdict.ts';

interface Late {
  /** From here on nothing of its token may be left. */
  readonly endAt: number;
  readonly run: string | undefined;
  readonly at: number;
  readonly finding: string;
}

/** A call that a process received and answered with a result. */
interface Served {
  readonly sentAt: number;
  readonly answeredAt: number;
}

const UNREAD = 'roles: calls that lay unread at a server when their token was revoked';

export class UnreadCalls {
  readonly #ledger: LedgerBook;
  readonly #verdict: Verdict;
  readonly #late: Late[] = [];
  /** By the run of the process. */
  readonly #served = new Map<string, Served[]>();

  constructor(ledger: LedgerBook, verdict: Verdict) {
    this.#ledger = ledger;
    this.#verdict = verdict;
    verdict.adds(UNREAD, 0);
  }

  /** Any call; `sentAt` is when the first call of its nonce was sent. */
  take({ answers }: Call, { receipts }: Trace, sentAt: number): void {
    const [answer] = answers;
    const [receipt] = receipts;
    if (answer?.kind !== 'result' || receipts.length !== 1 || receipt?.run === undefined) return;
    const served = this.#served.get(receipt.run) ?? [];
    this.#served.set(receipt.run, served);
    served.push({ sentAt, answeredAt: answer.at });
  }

  /** A call that was sent in time and received too late. */
  late(late: Late): void {
    this.#late.push(late);
  }

  judge(): void {
    for (const late of this.#late) {
      if (this.#mayHaveLain(late)) this.#verdict.adds(UNREAD);
      else this.#verdict.violates('afterRevocation', late.finding);
    }
  }

  #mayHaveLain({ run, endAt, at }: Late): boolean {
    if (run === undefined || this.#ledger.startedAt(run) > endAt) return false;
    const served = this.#served.get(run) ?? [];
    return !served.some(({ sentAt, answeredAt }) => sentAt > endAt && answeredAt < at);
  }
}
