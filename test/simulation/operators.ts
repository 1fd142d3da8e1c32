// Those who run the host: they stop, reload and replace servers at any moment, hold and release
// leases, look around, and read the status. Whatever they begin must come to an end, with a result
// or a typed fault.

import type { Host } from '../../src/host/host.ts';
import { Fault } from '../../src/kernel/fault.ts';
import type { Lease } from '../../src/supervise/leases.ts';
import type { Fleet } from './fleet.ts';
import type { Judge } from './invariants.ts';
import type { Dice } from './random.ts';
import type { World } from './world.ts';

const operators = 2;

export class Operators {
  /** What has been begun and is not over. */
  readonly pending = new Set<string>();
  readonly #world: World;
  readonly #host: Host;
  readonly #fleet: Fleet;
  readonly #judge: Judge;
  readonly #dice: Dice;
  #begun = 0;
  #isOver = false;

  constructor(world: World, host: Host, fleet: Fleet, judge: Judge, dice: Dice) {
    this.#world = world;
    this.#host = host;
    this.#fleet = fleet;
    this.#judge = judge;
    this.#dice = dice;
  }

  begin(): void {
    for (let operator = 0; operator < operators; operator += 1) this.#think();
  }

  end(): void {
    this.#isOver = true;
  }

  #think(): void {
    this.#world.clock.later(this.#dice.between(500, 15_000), () => void this.#work());
  }

  async #work(): Promise<void> {
    if (this.#isOver) return;
    await this.#act(this.#dice.pick(this.#fleet.names));
    this.#think();
  }

  async #act(name: string): Promise<void> {
    const kind = this.#dice.between(0, 99);
    if (kind < 15) return this.stop(name);
    if (kind < 35) return this.reload(name);
    if (kind < 50) return this.spawn(name);
    if (kind < 70) return this.#lease(name);
    if (kind < 80) return this.#discover();
    if (kind < 90) return this.#tools(name);
    this.#readStatus();
  }

  async stop(name: string): Promise<void> {
    this.#judge.disturbed(name);
    this.#judge.forgiven(name);
    await this.#track(`stop of ${name}`, () => this.#host.stop(name));
  }

  async reload(name: string): Promise<void> {
    this.#judge.disturbed(name);
    this.#judge.forgiven(name);
    await this.#track(`reload of ${name}`, () => this.#host.reload(name));
  }

  async spawn(name: string): Promise<void> {
    const dice = this.#dice;
    const variant = dice.between(1, 3);
    // Now and then a second operator does the same at the same time.
    const times = dice.chance(0.15) ? 2 : 1;
    const spawns = Array.from({ length: times }, () => {
      this.#judge.disturbed(name);
      const spec = { name, ...this.#fleet.entry(name, variant), lazy: dice.chance(0.7) };
      return this.#track(`spawn of ${name}`, () => this.#host.spawn(spec));
    });
    await Promise.all(spawns);
    // A server that did not come up was given back: it is registered again, to be started lazily.
    if (!this.#host.status().servers.some((server) => server.name === name)) {
      const spec = { name, ...this.#fleet.entry(name, variant), lazy: true };
      await this.#track(`spawn of ${name}`, () => this.#host.spawn(spec));
    }
  }

  async #lease(name: string): Promise<void> {
    const { clock } = this.#world;
    const dice = this.#dice;
    const owner = `operator ${this.#begun}`;
    const passage = this.#judge.passes(owner, name, this.#judge.circuitOf(name), true);
    const lease = await this.#track(`lease of ${name}`, async () => {
      try {
        const taken: Lease = await this.#host.lease(name, { owner });
        this.#judge.passed(passage, undefined);
        return taken;
      } catch (error) {
        this.#judge.passed(passage, error instanceof Fault ? error.code : undefined);
        throw error;
      }
    });
    if (!lease) return;
    clock.later(dice.between(0, 20_000), () => {
      lease.release();
      if (dice.chance(0.3)) lease.release();
    });
  }

  async #discover(): Promise<void> {
    const passages = this.#fleet.names.map((name) =>
      this.#judge.passes('discover', name, this.#judge.circuitOf(name), false),
    );
    const options = this.#dice.chance(0.5) ? { deadlineMs: this.#dice.between(100, 8_000) } : {};
    await this.#track('discover', () => this.#host.discover(options));
    for (const passage of passages) this.#judge.passed(passage, undefined);
  }

  async #tools(name: string): Promise<void> {
    const passage = this.#judge.passes('tools', name, this.#judge.circuitOf(name), false);
    await this.#track(`tools of ${name}`, () => this.#host.tools(name));
    this.#judge.passed(passage, undefined);
  }

  /** Reading changes nothing and always works. */
  #readStatus(): void {
    const { servers } = this.#host.status();
    this.#world.trace.add(servers.map(({ name, state }) => `${name} ${state}`).join(', '));
  }

  async #track<T>(what: string, act: () => Promise<T>): Promise<T | undefined> {
    this.#begun += 1;
    const entry = `${what} (${this.#begun}, begun at ${this.#world.clock.now()})`;
    this.pending.add(entry);
    try {
      return await act();
    } catch (error) {
      this.#judgeFailure(entry, error);
      return undefined;
    } finally {
      this.pending.delete(entry);
      this.#world.trace.add(`${entry} is over`);
    }
  }

  #judgeFailure(entry: string, error: unknown): void {
    if (error instanceof Fault && error.code !== 'internal') return;
    this.#judge.violated('typed-faults', `${entry} failed: ${String(error)}`);
  }
}
