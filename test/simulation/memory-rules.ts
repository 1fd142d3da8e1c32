// The rules about answers from memory. Every execution has a number of its own that comes back in its
// result, so it is known which answer each caller was really given. An answer that was made before
// its call began came from the cache or from an idempotency key, and both have their conditions: the
// operator's word or a trusted server's, a time that has not run out, no error, nothing that has
// been invalidated meanwhile, and no principal but the one it was made for unless it is public.

import type { Config } from '../../src/config/schema.ts';
import type { Violated } from './call-rules.ts';
import { type CallBook, type CallRecord, describe } from './calls.ts';
import type { Ledger, Outcome } from './ledger.ts';

/** Who was given an answer first, and when. */
interface Delivery {
  readonly record: CallRecord;
  readonly at: number;
  readonly step: number;
}

export class MemoryRules {
  readonly #book: CallBook;
  readonly #ledger: Ledger;
  readonly #config: Config;
  readonly #violated: Violated;
  /** By run. */
  readonly #deliveries = new Map<number, Delivery>();
  /** The last step in which a server's cached results had to go, by server. */
  readonly #invalidated = new Map<string, number>();

  constructor(book: CallBook, ledger: Ledger, config: Config, violated: Violated) {
    this.#book = book;
    this.#ledger = ledger;
    this.#config = config;
    this.#violated = violated;
  }

  invalidated(server: string, step: number): void {
    this.#invalidated.set(server, step);
  }

  /** A call was answered with the result, or the error, of this execution. */
  answered(record: CallRecord, run: number): void {
    const outcome = this.#ledger.outcomes.get(run);
    if (!outcome || !record.ended) return;
    const { call } = outcome;
    const { server, tool, nonce } = record.plan;
    if (call.server !== server || call.tool !== tool || call.nonce !== nonce) {
      const other = `${call.server}/${call.tool} ${call.nonce}`;
      return this.#violated('right-answer', `${describe(record)} got the answer of ${other}`);
    }
    const first = this.#deliveries.get(run);
    if (!first) this.#deliveries.set(run, { ...record.ended, record });
    if (record.plan.key !== undefined) this.#judgeKeyed(record, outcome);
    else if (this.#wasAwaited(record, outcome, first)) this.#judgeShared(record, outcome, first);
    else this.#judgeCached(record, outcome, first);
  }

  /** Did the call begin before the host had this answer? On its way here it belongs to nobody yet. */
  #wasAwaited(record: CallRecord, outcome: Outcome, first: Delivery | undefined): boolean {
    if (record.begunAt <= outcome.at) return true;
    return first ? record.begunStep <= first.step : this.#askers(record, outcome).length > 0;
  }

  /**
   * The answer of a key goes to those who use the key, and to nobody else. Whoever asked first may have
   * given up since: what may have reached the server goes on, and its answer is kept.
   */
  #judgeKeyed(record: CallRecord, outcome: Outcome): void {
    const { key } = record.plan;
    const users = this.#begunBefore(record, outcome);
    const isMade = users.some(({ plan }) => plan.key === key);
    if (isMade) return;
    this.#violated('idempotency-key', `${describe(record)} got an answer that is not its key's`);
  }

  #judgeCached(record: CallRecord, outcome: Outcome, first: Delivery | undefined): void {
    const says = `${describe(record)} was given run ${outcome.call.run} from memory`;
    const keptMs = this.#keptMs(outcome);
    if (keptMs === 0) return this.#violated('cache-rules', `${says}, which may not be kept`);
    if (first && record.begunAt >= first.at + keptMs) {
      this.#violated('cache-rules', `${says}, which was over at ${first.at + keptMs}`);
    }
    if (!outcome.isPublic && this.#askers(record, outcome).length === 0) {
      this.#violated('cache-keys', `${says}, which is private to somebody else`);
    }
    const invalidatedStep = this.#invalidated.get(record.plan.server) ?? 0;
    if (first && first.step < invalidatedStep && invalidatedStep < record.begunStep) {
      this.#violated('cache-rules', `${says}, although its server was stopped or replaced since`);
    }
    if (outcome.call.definition < record.standing.definition) {
      this.#violated('cache-rules', `${says}, although the tool's definition has changed since`);
    }
  }

  /** Both were waiting when it came: one flight of one principal, for something that may be kept. */
  #judgeShared(record: CallRecord, outcome: Outcome, first: Delivery | undefined): void {
    if (!first) return;
    const says = `${describe(record)} and call ${first.record.number} share one answer`;
    if (!this.#mayBeKept(outcome)) this.#violated('right-answer', says);
    if (first.record.plan.principal.id === record.plan.principal.id) return;
    if (!outcome.isPublic) this.#violated('cache-keys', `${says}, but not one principal`);
  }

  /** Calls of the same principal for the same thing that were open when the answer was made. */
  #askers(record: CallRecord, outcome: Outcome): readonly CallRecord[] {
    return this.#begunBefore(record, outcome).filter(
      ({ ended }) => (ended?.at ?? Infinity) >= outcome.at,
    );
  }

  #begunBefore({ plan }: CallRecord, { at }: Outcome): readonly CallRecord[] {
    return this.#book
      .of(plan.nonce)
      .filter((other) => other.plan.principal.id === plan.principal.id)
      .filter((other) => other.plan.server === plan.server && other.plan.tool === plan.tool)
      .filter(({ begunAt }) => begunAt <= at);
  }

  #keptMs(outcome: Outcome): number {
    const { call, isError, ttlMs } = outcome;
    if (isError) return 0;
    const config = this.#config.mcpServers[call.server];
    const operatorMs = config?.tools[call.tool]?.cacheMs ?? null;
    if (operatorMs !== null) return operatorMs;
    return config?.trusted && call.tool === 'read' ? ttlMs : 0;
  }

  /** One flight is for requests whose answer could be kept, whatever this answer says of itself. */
  #mayBeKept({ call }: Outcome): boolean {
    const config = this.#config.mcpServers[call.server];
    const operatorMs = config?.tools[call.tool]?.cacheMs ?? null;
    return operatorMs === null ? call.tool === 'read' && config?.trusted === true : operatorMs > 0;
  }
}
