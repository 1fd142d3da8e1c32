// The rules about calls, judged from the callers' book and the servers' ledger. At most one effect
// of a call that is not safe to repeat, also under an idempotency key; exactly one answer, in time
// and to the right call; and a `dispatched` that is true. A rule is checked at the first moment at
// which it can be broken, and what can only be known later, when the run is over.

import type { Config } from '../../src/config/schema.ts';
import type { FaultRecord } from '../../src/kernel/fault.ts';
import { type CallBook, type CallRecord, describe, type Echo } from './calls.ts';
import { type Fleet, isOperatorsWord, isSafe } from './fleet.ts';
import type { Ledger, LedgerLine } from './ledger.ts';
import { mayRun } from './policy-rules.ts';
import type { World } from './world.ts';

export type Violated = (rule: string, detail: string) => void;

/** Everything between a call and its first dispatch, each at its longest. */
const longest = { drainMs: 5_000, ladderMs: 6_000, sweepMs: 100, storeMs: 6_000, spawnMs: 3_000 };
const listMs = 10_000;
const mostAttempts = 3;

/** Longer than anything that was printed takes to be read. */
const deliveryMs = 1_000;

export class CallRules {
  readonly #book: CallBook;
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #config: Config;
  readonly #isChanging: boolean;
  readonly #violated: Violated;
  /** When somebody stopped, reloaded or replaced a server: each makes its callers wait anew. */
  readonly #disturbances: { readonly server: string; readonly at: number }[] = [];

  constructor(book: CallBook, world: World, fleet: Fleet, violated: Violated) {
    this.#book = book;
    this.#world = world;
    this.#ledger = world.ledger;
    this.#config = fleet.config;
    this.#isChanging = fleet.isChanging;
    this.#violated = violated;
  }

  disturbed(server: string, at: number): void {
    this.#disturbances.push({ server, at });
  }

  // --- what a server writes down -----------------------------------------------------------

  noted({ phase, call }: LedgerLine): void {
    const calls = this.#book.of(call.nonce);
    const [first] = calls;
    if (first === undefined) {
      return this.#violated(
        'right-answer',
        `${call.server} ran ${call.nonce}, which nobody called`,
      );
    }
    if (phase === 'done') return;
    const times = this.#ledger.count(call.nonce, phase);
    const allowed = this.#allowedTimes(calls);
    if (times > allowed) {
      this.#violated(
        'never-twice',
        `${describe(first)} has ${times} times '${phase}', allowed are ${allowed}`,
      );
    }
    if (phase === 'begin') this.#oneDefinition(first);
  }

  #allowedTimes(calls: readonly CallRecord[]): number {
    const first = calls[0] as CallRecord;
    const { server, tool, key } = first.plan;
    const config = this.#config.mcpServers[server];
    const admitted = calls.filter(mayRun);
    if (config && isSafe(server, config, tool)) return 2 * admitted.length;
    // The same key of another principal is another key.
    const principals = new Set(admitted.map(({ plan }) => plan.principal.id));
    if (key === undefined) return admitted.length;
    // A key is kept for a day: when the clock was set forward by more, it may be used anew.
    return principals.size * (1 + this.#world.clock.leaps - first.leaps);
  }

  /** "Safe to repeat" was said of one definition, and holds for no other. */
  #oneDefinition({ plan }: CallRecord): void {
    if (plan.isShared || isOperatorsWord(plan.server, plan.tool)) return;
    const begun = this.#ledger.of(plan.nonce).filter(({ phase }) => phase === 'begin');
    const definitions = new Set(begun.map(({ call }) => call.definition));
    if (definitions.size > 1) {
      this.#violated(
        'never-twice',
        `${plan.server}/${plan.tool} ${plan.nonce} was repeated although its definition had changed`,
      );
    }
  }

  // --- how a call ends ---------------------------------------------------------------------

  ended(record: CallRecord): void {
    const { ending } = record.ended ?? {};
    if (ending?.kind === 'bereft') return;
    if (ending?.kind === 'result') this.#judgeResult(record, ending.echo);
    else if (ending?.kind === 'fault') this.#judgeFault(record, ending.fault.record);
    else this.#violated('typed-faults', `${describe(record)} ended in ${JSON.stringify(ending)}`);
    this.#judgeTime(record);
  }

  #judgeResult(record: CallRecord, { nonce, server, tool }: Echo): void {
    const { plan } = record;
    if (nonce !== plan.nonce || server !== plan.server || tool !== plan.tool) {
      const other = `${String(server)}/${String(tool)} ${String(nonce)}`;
      this.#violated('right-answer', `${describe(record)} got the answer of ${other}`);
    } else if (this.#ledger.count(plan.nonce, 'done') === 0) {
      this.#violated('right-answer', `${describe(record)} has a result, but it never ran`);
    }
  }

  #judgeFault(record: CallRecord, fault: FaultRecord): void {
    const { plan } = record;
    const received = this.#ledger.count(plan.nonce, 'received');
    const says = `${describe(record)} ended in ${fault.code}, dispatched ${fault.dispatched} (${fault.detail})`;
    if (fault.code === 'internal') this.#violated('typed-faults', says);
    if (fault.code === 'timeout') this.#judgeWaited(record, says);
    if (fault.dispatched === 'no') this.#judgeNo(record, says);
    if (fault.dispatched === 'yes' && received === 0) {
      this.#violated('true-dispatched', `${says}, but no server has seen it`);
    }
    if (fault.code === 'outcome_unknown' && fault.dispatched === 'no') {
      this.#violated('true-dispatched', says);
    }
    // Under a key it is not repeated: what an earlier use has left without an answer stays unknown.
    const isFirst = plan.key === undefined || this.#book.of(plan.nonce)[0] === record;
    if (fault.code === 'outcome_unknown' && isFirst && isOperatorsWord(plan.server, plan.tool)) {
      this.#violated('never-twice', `${says}, although the operator allows to repeat it`);
    }
    if (fault.retryable && fault.dispatched !== 'no') this.#violated('true-dispatched', says);
  }

  /** It ran into its deadline, so its answer was not there, whatever was printed around it. */
  #judgeWaited({ plan, ended }: CallRecord, says: string): void {
    const runs = this.#ledger.of(plan.nonce).filter(({ phase }) => phase === 'received');
    const [only] = runs;
    if (only === undefined || runs.length > 1 || plan.isShared || plan.key !== undefined) return;
    const config = this.#config.mcpServers[plan.server];
    // What may be repeated waits for another connection when its own has gone, answered or not.
    if (config && isSafe(plan.server, config, plan.tool)) return;
    const answeredAt = this.#ledger.answeredAt.get(only.call.run) ?? Infinity;
    if (answeredAt + deliveryMs >= (ended?.at ?? 0)) return;
    this.#violated('one-answer', `${says}, but it was answered at ${answeredAt}`);
  }

  /** An earlier use of the same nonce, under a key, may have been received; this one must not be. */
  #judgeNo(record: CallRecord, says: string): void {
    const { plan, begunAt } = record;
    if (plan.isShared && plan.key === undefined) return;
    // Somebody else's call under the same key is another call, and the ledger cannot tell whose it is.
    const { id } = plan.principal;
    if (this.#book.of(plan.nonce).some((other) => other.plan.principal.id !== id)) return;
    // What a host that was killed had sent may be read until the reaper comes.
    if (this.#book.of(plan.nonce).some((other) => other.ended?.ending.kind === 'bereft')) return;
    const isNew = ({ at, phase }: LedgerLine) => phase === 'received' && at > begunAt;
    const received = this.#ledger.of(plan.nonce).some(isNew);
    if (received) this.#violated('true-dispatched', `${says}, but a server has received it`);
  }

  #judgeTime(record: CallRecord): void {
    const { plan, ended, gaveUpInStep } = record;
    if (ended === undefined) return;
    if (gaveUpInStep !== undefined && plan.key === undefined && ended.step > gaveUpInStep) {
      this.#violated('cancel', `${describe(record)} went on after its caller had given up`);
    }
    const boundMs = this.#boundMs(record);
    if (ended.at - record.begunAt > boundMs) {
      this.#violated('deadline', `${describe(record)} took longer than ${boundMs} ms`);
    }
    if (plan.isShared || plan.key !== undefined) return;
    const received = this.#ledger.of(plan.nonce)[0];
    const limitMs = this.#limitMs(record);
    // Progress may extend it, and who sent some is not asked: beyond the limit it needs an excuse.
    if (received && ended.at - received.at > limitMs && !record.hasProgressed) {
      this.#violated(
        'deadline',
        `${describe(record)} took longer than ${limitMs} ms at its server`,
      );
    }
  }

  #limitMs({ plan }: CallRecord): number {
    return plan.timeoutMs ?? this.#config.mcpServers[plan.server]?.callTimeoutMs ?? 0;
  }

  #boundMs(record: CallRecord): number {
    const { plan, begunAt } = record;
    const config = this.#config.mcpServers[plan.server];
    if (config === undefined) return 0;
    const maxDelayMs = config.restart?.maxDelayMs ?? 300_000;
    const { drainMs, ladderMs, sweepMs, storeMs, spawnMs } = longest;
    const startMs =
      drainMs + 2 * (ladderMs + sweepMs) + maxDelayMs + storeMs + spawnMs + config.startTimeoutMs;
    const disturbances = this.#disturbances.filter(
      ({ server, at }) => server === plan.server && at >= begunAt - startMs,
    );
    const onceMs = config.maxCallMs + listMs + mostAttempts * startMs;
    // A config may have lowered it.
    const concurrency = this.#isChanging ? 1 : config.concurrency;
    const turns = 1 + Math.ceil((config.queue + concurrency) / concurrency);
    return turns * onceMs + disturbances.length * startMs;
  }

  // --- when the run is over ----------------------------------------------------------------

  finish(): void {
    for (const record of this.#book.open) {
      this.#violated('one-answer', `${describe(record)} was never answered`);
    }
    for (const record of this.#book.all()) {
      const { ending } = record.ended ?? {};
      if (ending?.kind !== 'fault' || ending.fault.dispatched !== 'no') continue;
      if (record.plan.isShared || record.plan.key !== undefined) continue;
      this.#judgeNo(record, `${describe(record)} ended in ${ending.fault.code}, dispatched no`);
    }
  }
}
