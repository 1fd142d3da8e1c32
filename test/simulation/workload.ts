// The people and programs that use the host. Callers call at random times, alone and in bursts, with
// and without deadlines, in their own name, also what they may not; they give up, use idempotency
// keys and repeat a call under the same one, also of the next process, meet in the cache, and work under budgets. They never
// look inside; what they asked for and what they got is told to the judge.

import type { CallOptions, Host } from '../../src/host/host.ts';
import { Fault } from '../../src/kernel/fault.ts';
import type { BudgetLimits } from '../../src/policy/budget.ts';
import { localUser } from '../../src/policy/principal.ts';
import { Allowance } from './allowance.ts';
import type { CallRecord, Echo, Ending, Plan, ToolName } from './calls.ts';
import type { KeyedPlans } from './keyed-plans.ts';
import type { Dice } from './random.ts';
import type { Reign } from './reign.ts';

const callers = 6;
const longestThoughtMs = 20_000;
const tools: readonly [ToolName, ...ToolName[]] = ['read', 'write', 'set'];

export class Workload {
  readonly #reign: Reign;
  readonly #dice: Dice;
  readonly #keyed: KeyedPlans;
  readonly #nonces: () => string;
  readonly #hasBudgets: boolean;
  /** Servers that have answered a call with a result since the book of them was opened. */
  readonly answered = new Set<string>();
  #isPolite = false;

  constructor(reign: Reign, dice: Dice, keyed: KeyedPlans, nonces: () => string) {
    this.#reign = reign;
    this.#dice = dice;
    this.#keyed = keyed;
    this.#nonces = nonces;
    this.#hasBudgets = dice.chance(0.15);
  }

  /** The process that serves. */
  get #host(): Host {
    return this.#reign.host;
  }

  begin(): void {
    for (let caller = 0; caller < callers; caller += 1) this.#think();
    for (const plan of this.#keyed.again(this.#dice)) this.#repeatLater(plan);
  }

  /** It was asked of an earlier process, which may have been killed under it. */
  #repeatLater(plan: Plan): void {
    const afterMs = this.#dice.pick([1_000, 10_000, 60_000] as const);
    this.#reign.tether.later(this.#dice.between(0, afterMs), () => {
      if (!this.#isPolite) void this.#call(plan, this.#dice.chance(0.1));
    });
  }

  /** From now on: one plain call after the other to every server, as long as it has not answered. */
  beginPolite(): void {
    this.answered.clear();
    if (this.#isPolite) return;
    this.#isPolite = true;
    for (const server of this.#reign.fleet.names) void this.#callPolitely(server);
  }

  #think(): void {
    this.#reign.tether.later(this.#dice.between(10, longestThoughtMs), () => void this.#work());
  }

  async #work(): Promise<void> {
    if (this.#isPolite) return;
    await this.#act();
    this.#think();
  }

  async #act(): Promise<void> {
    const dice = this.#dice;
    const kind = dice.between(0, 99);
    if (kind < 6) return this.#burst();
    if (kind < 10) return this.#exhaust();
    if (kind < 19) return this.#repeatUnderKey();
    if (kind < 28) return this.#meetInCache();
    if (kind < 35 && this.#hasBudgets) return this.#workUnderBudget();
    if (kind < 37) return this.#call(this.#plan({ tool: 'secret' }), false);
    await this.#call(this.#plan(), kind < 55);
  }

  #plan(more: Partial<Plan> = {}): Plan {
    const dice = this.#dice;
    return {
      principal: dice.pick(this.#reign.people.all),
      server: dice.pick(this.#reign.fleet.names),
      tool: dice.pick(tools),
      nonce: this.#nonces(),
      isShared: false,
      key: undefined,
      workMs: 0,
      timeoutMs: dice.chance(0.2) ? dice.between(1, 5_000) : undefined,
      ...more,
    };
  }

  async #burst(): Promise<void> {
    const server = this.#dice.pick(this.#reign.fleet.names);
    const plans = Array.from({ length: this.#dice.between(3, 10) }, () => this.#plan({ server }));
    await Promise.all(plans.map((plan) => this.#call(plan, false)));
  }

  /** So many impatient calls that the circuit opens while patient ones are under way, and then more. */
  async #exhaust(): Promise<void> {
    const dice = this.#dice;
    const server = dice.pick(this.#reign.fleet.names);
    const patient = Array.from({ length: dice.between(1, 4) }, () =>
      this.#call(this.#slow(server, 8_000), false),
    );
    const impatient = Array.from({ length: dice.between(2, 4) }, () =>
      this.#call(this.#plan({ server, timeoutMs: dice.between(1, 40) }), false),
    );
    await Promise.all(impatient);
    for (let call = dice.between(1, 4); call > 0; call -= 1) {
      await this.#reign.tether.pause(dice.between(0, 4_000));
      await this.#call(this.#slow(server, 2_000), false);
    }
    await Promise.all(patient);
  }

  #slow(server: string, longestMs: number): Plan {
    return this.#plan({ server, workMs: this.#dice.between(0, longestMs), timeoutMs: undefined });
  }

  /** The same call two or three times under one key, at once or one after the other. */
  async #repeatUnderKey(): Promise<void> {
    const dice = this.#dice;
    const nonce = this.#nonces();
    const workMs = dice.chance(0.3) ? dice.between(0, 10_000) : 0;
    const key = `key-${nonce}`;
    const plan = this.#plan({ nonce, isShared: true, key, workMs, timeoutMs: undefined });
    const uses = dice.between(2, 3);
    const calls: Promise<void>[] = [];
    for (let at = 0; at < uses; at += 1) {
      // The same key of somebody else is another key.
      const principal = dice.chance(0.2) ? dice.pick(this.#reign.people.all) : plan.principal;
      const use = { ...plan, principal };
      if (this.#reign.fleet.keys !== 'memory') this.#keyed.add(use);
      calls.push(this.#call(use, dice.chance(0.2)));
      if (dice.chance(0.5)) await calls[at];
      if (dice.chance(0.5)) await this.#reign.tether.pause(dice.between(0, 3_000));
    }
    const { principal } = plan;
    if (dice.chance(0.3)) calls.push(this.#call(this.#plan({ principal, key }), false));
    await Promise.all(calls);
  }

  /** Reads that others read as well, at the same time, a little later, in another name. */
  async #meetInCache(): Promise<void> {
    const dice = this.#dice;
    const plan = this.#sharedRead();
    const calls = Array.from({ length: dice.between(1, 3) }, () =>
      this.#call(plan, dice.chance(0.2)),
    );
    await Promise.all(calls);
    if (dice.chance(0.3)) await this.#reign.tether.pause(dice.between(0, 8_000));
    if (dice.chance(0.1)) await this.#reign.operators.reload(plan.server);
    await this.#call({ ...plan, principal: dice.pick(this.#reign.people.all) }, false);
  }

  #sharedRead(): Plan {
    const server = this.#dice.pick(this.#reign.fleet.names);
    const nonce = `${server}-${this.#dice.between(0, 1)}`;
    return this.#plan({ server, tool: 'read', nonce, isShared: true, timeoutMs: undefined });
  }

  async #workUnderBudget(): Promise<void> {
    const dice = this.#dice;
    const allowance = new Allowance(this.#limits());
    await this.#reign.whileServing();
    // A budget is one of a program's own host; it does not go along.
    const host = this.#host;
    const isOver = () => this.#host !== host || this.#reign.isLeaving;
    const repeated = dice.chance(0.5) ? this.#sharedRead() : undefined;
    await host.withBudget(allowance.limits, async () => {
      for (let call = dice.between(1, 5); call > 0 && !isOver(); call -= 1) {
        const calls = Array.from({ length: dice.between(1, 2) }, () =>
          this.#call(repeated ?? this.#plan(), false, allowance),
        );
        await Promise.all(calls);
        if (dice.chance(0.2) && !isOver()) await this.#nest();
        if (dice.chance(0.3)) await this.#reign.tether.pause(dice.between(0, 60_000));
      }
    });
  }

  /** A budget inside another counts for itself, and afterwards the outer one goes on. */
  async #nest(): Promise<void> {
    const inner = new Allowance({ calls: this.#dice.between(0, 1) });
    const host = this.#host;
    await host.withBudget(inner.limits, async () => {
      for (let call = 0; call < 2 && this.#host === host && !this.#reign.isLeaving; call += 1)
        await this.#call(this.#plan(), false, inner);
    });
  }

  #limits(): BudgetLimits {
    const dice = this.#dice;
    const kind = dice.between(0, 3);
    if (kind === 0) return { bytes: dice.pick([50, 200, 100_000]) };
    if (kind === 1) return { perMinute: dice.between(0, 3) };
    return { calls: dice.between(0, 4) };
  }

  // --- one call ----------------------------------------------------------------------------

  async #call(plan: Plan, mayGiveUp: boolean, allowance?: Allowance): Promise<void> {
    const { judge } = this.#reign;
    if (this.#reign.isLeaving) await this.#reign.whileServing();
    const { serving } = this.#reign;
    using _use = serving.use();
    const record = judge.callBegins(plan, allowance);
    const giveUp = mayGiveUp ? this.#giveUpLater(record) : undefined;
    const circuit = judge.circuitOf(plan.server);
    const answer = this.#ask(plan, record, giveUp?.signal);
    judge.callBegan(record, circuit);
    const ending = await Promise.race([answer, serving.gone]);
    giveUp?.timer[Symbol.dispose]();
    if (ending === 'gone') return;
    if (ending.kind === 'result') this.answered.add(plan.server);
    judge.callEnded(record, ending);
  }

  async #ask(plan: Plan, record: CallRecord, signal: AbortSignal | undefined): Promise<Ending> {
    const { principal, server, tool, nonce, key, workMs, timeoutMs } = plan;
    const options: CallOptions = {
      principal,
      onProgress: () => {
        record.hasProgressed = true;
      },
      ...(signal && { signal }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    try {
      const result = await this.#host.call(server, tool, { nonce, workMs }, options);
      return { kind: 'result', echo: (result.structuredContent ?? {}) as Echo };
    } catch (thrown) {
      return thrown instanceof Fault
        ? { kind: 'fault', fault: thrown }
        : { kind: 'defect', thrown: String(thrown) };
    }
  }

  #giveUpLater(record: CallRecord): { readonly signal: AbortSignal; readonly timer: Disposable } {
    const giveUp = new AbortController();
    const timer = this.#reign.tether.later(this.#dice.between(0, 4_000), () => {
      record.gaveUpInStep = this.#reign.judge.step;
      giveUp.abort();
    });
    return { signal: giveUp.signal, timer };
  }

  async #callPolitely(server: string): Promise<void> {
    for (;;) {
      await this.#reign.tether.pause(1_000);
      if (this.answered.has(server)) continue;
      const plan = this.#plan({ principal: localUser, server, timeoutMs: undefined });
      await this.#call(plan, false);
    }
  }
}
