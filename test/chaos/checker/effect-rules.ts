// What the ledger alone shows once it is known who asked for what: an effect that happened twice
// although its tool is not safe, two executions under one idempotency key, an effect at another server
// or of another tool than was asked, an effect that nobody asked for. A second receipt is no second
// effect: a server that turned a request away may get it again.

import type { Call } from './call.ts';
import type { Facts, ServerFacts } from './facts.ts';
import type { LedgerBook, Trace } from './ledger-book.ts';
import type { Verdict } from './verdict.ts';

export function judgeArrival(call: Call, trace: Trace, verdict: Verdict): void {
  const wrong = trace.receipts.find(
    ({ server, tool }) => (server !== undefined && server !== call.server) || tool !== call.tool,
  );
  if (wrong === undefined) return;
  const asked = `${call.nonce} of client ${call.client} (${call.place}) asked ${call.server}/${call.tool}`;
  const finding = `${asked} and reached ${wrong.server}/${wrong.tool}: ${trace.lines.join(', ')}`;
  verdict.violates('misrouted', finding);
}

export function judgeRepetition(
  call: Call,
  server: ServerFacts,
  trace: Trace,
  verdict: Verdict,
): void {
  const isSafe = server.safeTools.has(call.tool);
  if (isSafe || trace.begun < 2) return;
  const finding = `${call.nonce} of client ${call.client} (${call.place}) at ${call.server}/${call.tool} ran ${trace.begun} times: ${trace.lines.join(', ')}`;
  verdict.violates('duplicated', finding, trace.begun - 1);
}

export function judgeUnasked(ledger: LedgerBook, verdict: Verdict): void {
  for (const [nonce, { isAsked, lines }] of ledger.traces) {
    if (!isAsked) verdict.violates('unasked', `no history has ${nonce}: ${lines.join(', ')}`);
  }
}

/**
 * One key, one execution, however many calls carry it and whatever their arguments. A safe tool may be
 * replayed as any other; there the rule is one nonce.
 */
export class KeyRule {
  readonly #facts: Facts;
  readonly #byKey = new Map<string, Map<string, Call>>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  take(call: Call): void {
    if (call.key === undefined) return;
    const nonces = this.#byKey.get(call.key) ?? new Map<string, Call>();
    this.#byKey.set(call.key, nonces.set(call.nonce, call));
  }

  judge(ledger: LedgerBook, verdict: Verdict): void {
    for (const [key, nonces] of this.#byKey) {
      const runs = [...nonces.values()].map((call) => this.#runs(call, ledger));
      const total = runs.reduce((sum, count) => sum + count, 0);
      if (total < 2) continue;
      const lines = [...nonces.keys()].flatMap((nonce) => ledger.of(nonce)?.lines ?? []);
      const finding = `key ${key}, nonces ${[...nonces.keys()].join(', ')}: ${lines.join(', ')}`;
      verdict.violates('key', finding, total - 1);
    }
  }

  #runs(call: Call, ledger: LedgerBook): number {
    const begun = ledger.of(call.nonce)?.begun ?? 0;
    const isSafe = this.#facts.servers.get(call.server)?.safeTools.has(call.tool) === true;
    return isSafe ? Math.min(begun, 1) : begun;
  }
}
