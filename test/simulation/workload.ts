// The people and programs that use the host. Callers call at random times, alone and in bursts, with
// and without deadlines, give up, use idempotency keys and repeat a call under the same one, meet in
// the cache, and work under budgets. They never look inside; what they asked for and what they got
// is told to the judge.

import type { CallOptions, Host } from '../../src/host/host.ts';
import { Fault } from '../../src/kernel/fault.ts';
import type { CallRecord, Ending, Plan, ToolName } from './calls.ts';
import type { Fleet } from './fleet.ts';
import type { Judge } from './invariants.ts';
import type { Dice } from './random.ts';
import type { World } from './world.ts';

const callers = 6;
const tools: readonly [ToolName, ...ToolName[]] = ['read', 'write', 'set'];

export class Workload {
  readonly #world: World;
  readonly #host: Host;
  readonly #fleet: Fleet;
  readonly #judge: Judge;
  readonly #dice: Dice;
  readonly #hasBudgets: boolean;
  /** Servers that have answered a call with a result since the book of them was opened. */
  readonly answered = new Set<string>();
  #lastNonce = 0;
  #isPolite = false;

  constructor(world: World, host: Host, fleet: Fleet, judge: Judge, dice: Dice) {
    this.#world = world;
    this.#host = host;
    this.#fleet = fleet;
    this.#judge = judge;
    this.#dice = dice;
    this.#hasBudgets = dice.chance(0.25);
  }

  begin(): void {
    for (let caller = 0; caller < callers; caller += 1) this.#think();
  }

  /** From now on: one plain call after the other to every server, as long as it has not answered. */
  beginPolite(): void {
    this.answered.clear();
    if (this.#isPolite) return;
    this.#isPolite = true;
    for (const server of this.#fleet.names) void this.#callPolitely(server);
  }

  #think(): void {
    this.#world.clock.later(this.#dice.between(10, 9_000), () => void this.#work());
  }

  async #work(): Promise<void> {
    if (this.#isPolite) return;
    await this.#act();
    this.#think();
  }

  async #act(): Promise<void> {
    const dice = this.#dice;
    const kind = dice.between(0, 99);
    if (kind < 8) return this.#burst();
    if (kind < 18) return this.#repeatUnderKey();
    if (kind < 23) return this.#meetInCache();
    if (kind < 28 && this.#hasBudgets) return this.#workUnderBudget();
    await this.#call(this.#plan(), kind < 48);
  }

  #plan(more: Partial<Plan> = {}): Plan {
    const dice = this.#dice;
    this.#lastNonce += 1;
    return {
      server: dice.pick(this.#fleet.names),
      tool: dice.pick(tools),
      nonce: `n${this.#lastNonce}`,
      isShared: false,
      key: undefined,
      timeoutMs: dice.chance(0.2) ? dice.between(1, 5_000) : undefined,
      ...more,
    };
  }

  async #burst(): Promise<void> {
    const server = this.#dice.pick(this.#fleet.names);
    const plans = Array.from({ length: this.#dice.between(3, 10) }, () => this.#plan({ server }));
    await Promise.all(plans.map((plan) => this.#call(plan, false)));
  }

  /** The same call two or three times under one key, at once or one after the other. */
  async #repeatUnderKey(): Promise<void> {
    const dice = this.#dice;
    const nonce = `k${this.#lastNonce}`;
    const plan = this.#plan({ nonce, isShared: true, key: `key-${nonce}`, timeoutMs: undefined });
    const uses = dice.between(2, 3);
    const calls: Promise<void>[] = [];
    for (let use = 0; use < uses; use += 1) {
      calls.push(this.#call(plan, dice.chance(0.2)));
      if (dice.chance(0.5)) await calls[use];
      if (dice.chance(0.5)) await this.#pause(dice.between(0, 3_000));
    }
    if (dice.chance(0.3)) calls.push(this.#call(this.#plan({ key: plan.key }), false));
    await Promise.all(calls);
  }

  async #meetInCache(): Promise<void> {
    const dice = this.#dice;
    const server = dice.pick(this.#fleet.names);
    const nonce = `${server}-${dice.between(0, 3)}`;
    const plan = this.#plan({ server, tool: 'read', nonce, isShared: true, timeoutMs: undefined });
    const calls = Array.from({ length: dice.between(1, 3) }, () =>
      this.#call(plan, dice.chance(0.2)),
    );
    await Promise.all(calls);
  }

  async #workUnderBudget(): Promise<void> {
    const dice = this.#dice;
    const limits = { calls: dice.between(0, 3), bytes: dice.pick([50, 200, 100_000]) };
    const plans = Array.from({ length: dice.between(1, 4) }, () => this.#plan());
    await this.#host.withBudget(limits, async () => {
      for (const plan of plans) await this.#call(plan, false);
    });
  }

  // --- one call ----------------------------------------------------------------------------

  async #call(plan: Plan, mayGiveUp: boolean): Promise<void> {
    const record = this.#judge.callBegins(plan);
    const giveUp = mayGiveUp ? this.#giveUpLater(record) : undefined;
    const circuit = this.#judge.circuitOf(plan.server);
    const answer = this.#ask(plan, record, giveUp?.signal);
    this.#judge.callBegan(record, circuit);
    const ending = await answer;
    giveUp?.timer[Symbol.dispose]();
    if (ending.kind === 'result') this.answered.add(plan.server);
    this.#judge.callEnded(record, ending);
  }

  async #ask(plan: Plan, record: CallRecord, signal: AbortSignal | undefined): Promise<Ending> {
    const { server, tool, nonce, key, timeoutMs } = plan;
    const options: CallOptions = {
      onProgress: () => {
        record.hasProgressed = true;
      },
      ...(signal && { signal }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    try {
      const result = await this.#host.call(server, tool, { nonce }, options);
      return { kind: 'result', nonce: (result.structuredContent as { nonce?: unknown })?.nonce };
    } catch (thrown) {
      return thrown instanceof Fault
        ? { kind: 'fault', fault: thrown }
        : { kind: 'defect', thrown: String(thrown) };
    }
  }

  #giveUpLater(record: CallRecord): { readonly signal: AbortSignal; readonly timer: Disposable } {
    const giveUp = new AbortController();
    const timer = this.#world.clock.later(this.#dice.between(0, 4_000), () => {
      record.gaveUpInStep = this.#judge.step;
      giveUp.abort();
    });
    return { signal: giveUp.signal, timer };
  }

  async #callPolitely(server: string): Promise<void> {
    for (;;) {
      await this.#pause(1_000);
      if (this.answered.has(server)) continue;
      await this.#call(this.#plan({ server, timeoutMs: undefined }), false);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#world.clock.later(ms, resolve));
  }
}
