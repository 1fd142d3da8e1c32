// Rollouts of an instance at any moment, as the pid-holder and the conductor of a gateway carry them out: a successor
// is started beside the process that serves and made ready, the fence is drawn, everything is handed over, and the
// successor takes over. One that is lost or refuses before the fence changes nothing; one that is lost behind it, before
// it has taken over, is followed by another one that is given the same. Several may follow each other while former
// processes still end what they have begun.

import { HandOverLink } from '../../src/rollout/hand-over-link.ts';
import { type RunConfig, runOf } from './config-changes.ts';
import type { Dice } from './random.ts';
import type { Reign } from './reign.ts';
import { type HandedAll, Serving } from './serving.ts';

/** As many as a gateway allows. */
const mostFormers = 4;
/** So long it is waited for the moment that was drawn. */
const momentMs = 10_000;
/** A former process without calls ends its servers within a stop ladder, and writes what it still has. */
const leaveMs = 30_500;

interface Successor {
  readonly serving: Serving;
  readonly config: RunConfig;
}

export class Rollouts {
  readonly #reign: Reign;
  readonly #dice: Dice;
  /** Waits for a moment. */
  #waiting: { readonly isThen: () => boolean; readonly until: number; go(): void } | undefined;
  /** Resolves when none is under way. */
  #last: Promise<void> = Promise.resolve();
  #isOver = false;
  isUnderWay = false;

  constructor(reign: Reign, dice: Dice) {
    this.#reign = reign;
    this.#dice = dice;
  }

  begin(): void {
    if (this.#dice.chance(0.6)) void this.#goOn();
  }

  /** No other one begins. Resolves when the one under way is over. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#last;
  }

  /** At the end of every step. */
  look(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const now = this.#reign.world.clock.now();
    if (now < waiting.until && !waiting.isThen()) return;
    this.#waiting = undefined;
    waiting.go();
  }

  async #goOn(): Promise<void> {
    const dice = this.#dice;
    // Some instances roll out all the time.
    const longestMs = dice.pick([2_000, 30_000, 90_000]);
    for (;;) {
      await this.#reign.tether.pause(dice.between(50, longestMs));
      if (this.#isOver) return;
      if (this.#reign.formers.size >= mostFormers) continue;
      this.#last = this.#roll();
      await this.#last;
    }
  }

  async #roll(): Promise<void> {
    const { world } = this.#reign;
    this.isUnderWay = true;
    try {
      const first = this.#start();
      await this.#reign.tether.pause(this.#dice.between(20, 2_000));
      const isLost = world.faults.occurs('successor-lost');
      if (isLost || world.faults.occurs('successor-refuses')) return this.#lose(first);
      await this.#moment();
      // An installation and a change of the config often come together.
      if (this.#reign.fleet.isChanging && this.#dice.chance(0.15)) {
        void this.#reign.operators.configure();
        await this.#reign.tether.pause(this.#dice.between(0, 500));
      }
      if (this.#isOver) return this.#lose(first);
      await this.#handOver(first);
    } finally {
      this.isUnderWay = false;
    }
  }

  /** As the newest config says; it uses nothing yet. */
  #start(): Successor {
    const { realm, serving } = this.#reign;
    const config = realm.judge.configs.last;
    realm.world.trace.add('a successor starts');
    const successor = new Serving(realm, config.loaded, serving);
    this.#reign.successors.add(successor);
    return { serving: successor, config };
  }

  #lose({ serving }: Successor): void {
    const { realm, successors } = this.#reign;
    realm.world.trace.add('a successor is lost');
    successors.delete(serving);
    serving.lost();
    realm.judge.processEnded(serving.rules, false);
  }

  // --- the moment --------------------------------------------------------------------------

  /** Anything may be under way at the fence. */
  #moment(): Promise<void> {
    const { world, judge, operators } = this.#reign;
    const phases = () => this.#reign.host.servers().map(({ supervisor }) => supervisor.phase.kind);
    const is = (...kinds: readonly string[]) => phases().some((phase) => kinds.includes(phase));
    const circuits = () => this.#reign.host.servers().map((one) => one.supervisor.breaker.circuit);
    const isThen = this.#dice.pick([
      () => true,
      () => true,
      () => is('starting'),
      () => is('stopping'),
      () => is('cooling'),
      () => is('ejected'),
      () => circuits().includes('open'),
      () => circuits().includes('half_open'),
      () => judge.configs.isApplying,
      () => operators.pending.size > 0,
      () => world.database.isCommitting,
      () => world.disk.isWriting,
      () => this.#isKeyed(),
      () => this.#isKeyed() && world.database.isCommitting,
      () => this.#reign.serving.isUsed,
      () => this.#reign.formers.size > 0,
    ]);
    const until = world.clock.now() + momentMs;
    // Somebody has to look, also if nothing happens.
    this.#reign.tether.later(momentMs, () => {});
    return new Promise((go) => {
      this.#waiting = { isThen, until, go };
    });
  }

  #isKeyed(): boolean {
    return [...this.#reign.judge.book.open].some(({ plan }) => plan.key !== undefined);
  }

  #countMoment(): void {
    const { world, judge, host, formers } = this.#reign;
    const { happenings } = world;
    const phases = host.servers().map(({ supervisor }) => supervisor.phase.kind);
    happenings.add('rollouts');
    if (formers.size > 0) happenings.add('rollouts in a row, before a former process has ended');
    if (phases.some((kind) => kind === 'starting' || kind === 'stopping' || kind === 'cooling')) {
      happenings.add('rollouts with a start, a stop or a backoff under way');
    }
    if (host.servers().some(({ supervisor }) => supervisor.breaker.circuit !== 'closed')) {
      happenings.add('rollouts with a circuit that is not closed');
    }
    if (phases.includes('ejected')) happenings.add('rollouts with an ejected server');
    if (judge.configs.isApplying) happenings.add('rollouts with a change of the config under way');
    if (this.#isKeyed()) happenings.add('rollouts with a key in use');
  }

  // --- the fence ---------------------------------------------------------------------------

  async #handOver(first: Successor): Promise<void> {
    const { realm, serving: incumbent } = this.#reign;
    const { world, judge } = realm;
    world.trace.add('the fence');
    this.#countMoment();
    const opened = this.#reign.fence();
    const ready = judge.rollouts.readyAt(incumbent);
    judge.fenced();
    const link = new HandOverLink();
    link.attach(this.#linkTo(first));
    const handing = incumbent.handOver(link);
    const handed = handing.then((all) => {
      judge.rollouts.wereGiven(ready, all);
      judge.store.lifeEnded();
      incumbent.rules.hasGiven(new Set(all.given.map(({ server }) => server)));
      return all;
    });
    const next = await this.#takenOver(first, link, handed, incumbent);
    const isSame = this.#sameRun(incumbent, next.serving);
    if (this.#isOtherConfig(incumbent, next.serving)) {
      world.happenings.add('rollouts with another config');
    }
    judge.serves(next.serving.rules, next.config, {
      isSame,
      isKept: this.#sameResults(incumbent, next.serving),
    });
    this.#reign.succeeded(next.serving, link);
    judge.rollouts.areAdopted(await handed, next.serving, isSame);
    opened();
    world.trace.add('the successor serves');
    // A config that came meanwhile is read now.
    const { newest } = this.#reign;
    if (newest !== undefined && newest !== next.config) void this.#reign.operators.apply(newest);
  }

  /** By the first successor that is not lost before it takes over. */
  async #takenOver(
    first: Successor,
    link: HandOverLink,
    handing: Promise<HandedAll>,
    incumbent: Serving,
  ): Promise<Successor> {
    const { world, realm } = this.#reign;
    let next = first;
    for (let lost = 0; ; lost += 1) {
      const mayBeLost = () => lost < 3 && world.faults.occurs('successor-lost-behind-fence');
      if (!mayBeLost()) {
        const handed = await handing;
        await this.#reign.tether.pause(this.#dice.between(0, 100));
        const isSame = this.#sameRun(incumbent, next.serving);
        const given = new Set(handed.given.map(({ server }) => server));
        next.serving.rules.inherit({ from: incumbent.rules, isSame, given });
        const adopted = next.serving.restore(handed);
        realm.judge.rollouts.goAlong(incumbent.rules.standings, next.serving, isSame);
        await this.#reign.tether.pause(this.#dice.between(0, 100));
        if (!mayBeLost()) {
          next.serving.begin();
          await adopted;
          return next;
        }
      }
      this.#lose(next);
      next = this.#start();
      await this.#reign.tether.pause(this.#dice.between(20, 500));
      link.attach(this.#linkTo(next));
    }
  }

  #linkTo({ serving }: Successor) {
    const { link } = serving;
    if (link === undefined) throw new Error('a successor has a link');
    return link.other;
  }

  /** Which servers the next process runs, or reaches, as this one did. */
  #sameRun(incumbent: Serving, next: Serving): (name: string) => boolean {
    return (name) => {
      const { config } = incumbent.host.known(name) ?? {};
      const after = next.loaded.config.mcpServers[name];
      return after !== undefined && runOf(config) === runOf(after);
    };
  }

  /** Of which servers what is cached may be given out: those whose entry says the same of results. */
  #sameResults(incumbent: Serving, next: Serving): (name: string) => boolean {
    const isSame = this.#sameRun(incumbent, next);
    return (name) => {
      const before = incumbent.host.known(name)?.config.tools;
      const after = next.loaded.config.mcpServers[name]?.tools;
      return isSame(name) && JSON.stringify(before) === JSON.stringify(after);
    };
  }

  #isOtherConfig(incumbent: Serving, next: Serving): boolean {
    const isSame = this.#sameRun(incumbent, next);
    return incumbent.host.servers().some(({ name }) => !isSame(name));
  }

  // --- the process before --------------------------------------------------------------------

  /** It ends when what it has begun has ended, and those before it. */
  async former(serving: Serving, link: HandOverLink): Promise<void> {
    const { reign, world, judge } = { reign: this.#reign, ...this.#reign.realm };
    await reign.tether.pause(this.#dice.between(0, 20));
    link.taken();
    if (world.faults.occurs('former-killed')) {
      await reign.tether.pause(this.#dice.between(0, 5_000));
      if (reign.formers.has(serving)) return reign.loseFormer(serving);
    }
    const before = serving.link?.closed;
    await Promise.all([serving.unused(), before]);
    if (serving.tether.isCut) return;
    let hasLeft = false;
    reign.tether.later(leaveMs, () => {
      if (!hasLeft && !serving.tether.isCut) judge.rollouts.tookTooLong(leaveMs);
    });
    await serving.leave(link);
    hasLeft = true;
    // What was on its way in the same turn has come.
    await reign.tether.pause(1);
    world.trace.add('a former process has ended');
    judge.processEnded(serving.rules, true);
    reign.formers.delete(serving);
  }
}
