// Those who run the host: they stop, reload and replace servers or apply another config at any moment, hold and release
// leases, read the status, and look around in everybody's name. Whatever they begin must come to an
// end, with a result or a typed fault.

import type { HostCore } from '../../src/host/host-core.ts';
import { Fault } from '../../src/kernel/fault.ts';
import type { Lease } from '../../src/supervise/leases.ts';
import { nextDraft, type RunConfig } from './config-changes.ts';
import type { Judge } from './invariants.ts';
import type { Dice } from './random.ts';
import type { Reign } from './reign.ts';
import type { ServerRules } from './server-rules.ts';

const operators = 2;

export class Operators {
  /** What has been begun and is not over. */
  readonly pending = new Set<string>();
  readonly #reign: Reign;
  readonly #judge: Judge;
  readonly #dice: Dice;
  #begun = 0;
  #isOver = false;

  constructor(reign: Reign, dice: Dice) {
    this.#reign = reign;
    this.#judge = reign.judge;
    this.#dice = dice;
  }

  /** The process that serves. */
  get #host(): HostCore {
    return this.#reign.host;
  }

  begin(): void {
    for (let operator = 0; operator < operators; operator += 1) this.#think();
  }

  end(): void {
    this.#isOver = true;
  }

  #think(): void {
    this.#reign.tether.later(this.#dice.between(500, 18_000), () => void this.#work());
  }

  async #work(): Promise<void> {
    if (this.#isOver) return;
    await this.#reign.whileServing();
    await this.#act(this.#dice.pick(this.#reign.fleet.names));
    this.#think();
  }

  async #act(name: string): Promise<void> {
    const kind = this.#dice.between(0, 99);
    if (kind < 13) return this.stop(name);
    if (kind < 30) return this.reload(name);
    if (kind < 43) return this.#reign.fleet.isChanging ? this.configure() : this.spawn(name);
    if (kind < 75) return this.#lease(name);
    // It asks all, also those that only lists may start where there are clients.
    if (kind < 81) return this.#reign.fleet.hasClients ? this.#tools(name) : this.#discover();
    if (kind < 85) return this.#search(name);
    if (kind < 93) return this.#tools(name);
    this.#readStatus();
  }

  async stop(name: string): Promise<void> {
    await this.#reign.whileServing();
    using _cover = this.#judge.configs.covers(name);
    this.#judge.disturbed(name);
    this.#judge.forgiven(name);
    this.#judge.configs.stops(name);
    await this.#track(`stop of ${name}`, () => this.#host.stop(name));
  }

  async reload(name: string): Promise<void> {
    await this.#reign.whileServing();
    using _cover = this.#judge.configs.covers(name);
    this.#judge.disturbed(name);
    this.#judge.forgiven(name);
    await this.#track(`reload of ${name}`, () => this.#host.reload(name));
  }

  /** Another config; now and then the next one comes before it is applied. */
  async configure(): Promise<void> {
    const { fleet } = this.#reign;
    const applied: Promise<void>[] = [];
    for (let times = this.#dice.chance(0.25) ? 2 : 1; times > 0; times -= 1) {
      if (this.#isOver) break;
      const { draft } = this.#judge.configs.last;
      applied.push(this.apply(fleet.configOf(nextDraft(draft, this.#dice))));
      if (times > 1) await this.#reign.tether.pause(this.#dice.between(0, 2_000));
    }
    await Promise.all(applied);
  }

  async apply(config: RunConfig): Promise<void> {
    // A file that changes meanwhile is read by whoever serves next.
    if (this.#reign.isLeaving) {
      this.#reign.newest = config;
      return await this.#reign.whileServing();
    }
    const { configs } = this.#judge;
    const applying = configs.begins(config);
    await this.#track('a config', () =>
      // Told in the same turn: the next one that waits is applied in this turn, too.
      this.#host.applyLoaded(config.loaded).then(
        ({ failed }) => configs.ended(applying, failed),
        (error: unknown) => {
          configs.ended(applying, undefined);
          throw error;
        },
      ),
    );
  }

  async spawn(name: string): Promise<void> {
    await this.#reign.whileServing();
    using _cover = this.#judge.configs.covers(name);
    const dice = this.#dice;
    const variant = dice.between(1, 2);
    // Now and then a second operator does the same at the same time.
    const times = dice.chance(0.15) ? 2 : 1;
    const spawns = Array.from({ length: times }, () => {
      this.#judge.disturbed(name);
      const spec = { name, ...this.#reign.fleet.entry(name, variant), lazy: dice.chance(0.7) };
      return this.#track(`spawn of ${name}`, () => this.#host.spawn(spec));
    });
    await Promise.all(spawns);
    await this.#reign.whileServing();
    // A server that did not come up was given back: it is registered again, to be started lazily.
    if (!this.#host.status().servers.some((server) => server.name === name)) {
      const spec = { name, ...this.#reign.fleet.entry(name, variant), lazy: true };
      await this.#track(`spawn of ${name}`, () => this.#host.spawn(spec));
    }
  }

  async #lease(name: string): Promise<void> {
    const owner = `operator ${this.#begun}`;
    const { servers } = this.#judge;
    const passage = this.#judge.passes(owner, name, this.#judge.circuitOf(name), {
      hasAsked: true,
    });
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
    servers.leased(name, lease);
    this.#releaseLater(name, lease, servers);
  }

  /** Now and then somebody releases once more, which must take nothing from anybody. */
  #releaseLater(name: string, lease: Lease, servers: ServerRules): void {
    const { tether } = this.#reign;
    tether.later(this.#dice.between(0, 20_000), () => {
      servers.released(name, lease);
      lease.release();
      if (!this.#dice.chance(0.5)) return;
      tether.later(this.#dice.between(0, 5_000), () => lease.release());
    });
  }

  async #discover(): Promise<void> {
    const principal = this.#dice.pick(this.#reign.people.all);
    const deadline = this.#dice.chance(0.5) ? { deadlineMs: this.#dice.between(100, 8_000) } : {};
    await this.#look('discover', Object.keys(this.#reign.fleet.config.mcpServers), async () => {
      const host = this.#host;
      const asked = host.servers().map((server) => server.name);
      const hides = this.#hiding();
      const found = await host.discover({ ...deadline, principal });
      this.#judge.policy.sees(principal, found, hides);
      for (const name of asked) {
        const ofServer = found.filter(({ server }) => server === name);
        const hasFailed = ofServer.some((entry) => 'error' in entry);
        if (!hasFailed) this.#judge.policy.seesAll(principal, name, ofServer, hides);
      }
    });
  }

  async #tools(server: string): Promise<void> {
    const principal = this.#dice.pick(this.#reign.people.all);
    await this.#look(`tools of ${server}`, [server], async () => {
      const hides = this.#hiding();
      const tools = await this.#host.tools(server, { principal });
      const found = tools.map(({ name }) => ({ server, tool: String(name) }));
      this.#judge.policy.sees(principal, found, hides);
      this.#judge.policy.seesAll(principal, server, found, hides);
    });
  }

  /** Only while everything is known: the index is loaded in real time, in which nothing can happen. */
  async #search(name: string): Promise<void> {
    const { people, world } = this.#reign;
    const principal = this.#dice.pick(people.all);
    const words = this.#dice.pick(['definition', 'read', 'write', 'secret']);
    const shown = this.#host
      .servers()
      .filter((server) => people.mayUse(principal, server.name, null));
    if (!shown.every(({ catalogue }) => catalogue.isFresh)) return this.#tools(name);
    await this.#track('search', async () => {
      const hides = this.#hiding();
      const searching = this.#host.search(words, { principal, limit: 50 });
      const { outcome } = await world.clock.hold(searching);
      if (outcome.kind === 'found') this.#judge.policy.sees(principal, outcome.hits, hides);
    });
  }

  /** What is hidden as long as the config stays as it is now; otherwise nothing is known. */
  #hiding(): (server: string, tool: string) => boolean | undefined {
    const { configs } = this.#judge;
    const { version } = configs;
    return (server, tool) => {
      const isSure = configs.version === version || tool === 'secret';
      return isSure ? configs.hides(server, tool) : undefined;
    };
  }

  /** Looking passes the gate of every server it has to ask. */
  async #look(what: string, names: readonly string[], look: () => Promise<void>): Promise<void> {
    const passages = names.map((name) =>
      this.#judge.passes(what, name, this.#judge.circuitOf(name), { isLook: true }),
    );
    await this.#track(what, look);
    for (const passage of passages) this.#judge.passed(passage, undefined);
  }

  /** Reading changes nothing and always works. */
  #readStatus(): void {
    const { servers } = this.#host.status();
    this.#reign.world.trace.add(servers.map(({ name, state }) => `${name} ${state}`).join(', '));
  }

  async #track<T>(what: string, act: () => Promise<T>): Promise<T | undefined> {
    this.#begun += 1;
    const entry = `${what} (${this.#begun}, begun at ${this.#reign.tether.now()})`;
    this.pending.add(entry);
    // What was begun ends where it was begun.
    const { serving } = this.#reign;
    using _use = serving.use();
    try {
      const done = await Promise.race([act(), serving.gone]);
      return done === 'gone' ? undefined : done;
    } catch (error) {
      this.#judgeFailure(entry, error);
      return undefined;
    } finally {
      this.pending.delete(entry);
      this.#reign.world.trace.add(`${entry} is over`);
    }
  }

  #judgeFailure(entry: string, error: unknown): void {
    if (error instanceof Fault && error.code !== 'internal') return;
    this.#judge.violated('typed-faults', `${entry} failed: ${String(error)}`);
  }
}
