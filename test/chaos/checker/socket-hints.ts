// What cannot be proved over HTTP but is worth a look: `maybe` without a receipt although the server
// lived on, and read other calls, before and after. It may be honest (the server closed an idle
// connection in the very moment in which the request was written; a caller's deadline took the request
// back), so it is a figure without a goal. That it is large means that something is told too carefully:
// a refusal, say, that proves that nothing was read.

import type { Call } from './call.ts';
import type { Trace } from './ledger-book.ts';
import { Processes } from './processes.ts';
import type { Verdict } from './verdict.ts';

export class SocketHints {
  readonly #verdict: Verdict;
  readonly #processes: Processes;
  readonly #unread: { call: Call; sentAt: number; answeredAt: number }[] = [];

  constructor(verdict: Verdict) {
    this.#verdict = verdict;
    this.#processes = new Processes(verdict);
  }

  take(call: Call, trace: Trace, sentAt: number): void {
    const [answer] = call.answers;
    this.#processes.received(call, trace, sentAt);
    if (trace.receipts.length > 0 || answer?.fault?.dispatched !== 'maybe') return;
    this.#unread.push({ call, sentAt, answeredAt: answer.at });
  }

  tell(): void {
    const lived = this.#unread.filter((one) => this.#processes.receivedLater(one) !== undefined);
    this.#verdict.adds('maybe without a receipt, over HTTP', this.#unread.length);
    this.#verdict.adds('  of these, while its server lived on', lived.length);
  }
}
