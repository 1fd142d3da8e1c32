// The kills: gateways in a few homes side by side, each life ended at a moment that the seed has chosen,
// most of them in the middle of an operation on a file. Every life begins by looking for what the one
// before had acknowledged. The same seed gives the same lives in the same order in each home.

import { Dice } from '../support/dice.ts';
import { FailedCall, Gone } from './asking.ts';
import { CrashHome, type Life } from './home.ts';
import type { Strike } from './injected-faults/plan.ts';
import { orphansOf } from './orphans.ts';
import type { Shipped } from './shipped.ts';
import { CataloguesSubject } from './subjects/catalogues.ts';
import { EventLogSubject } from './subjects/event-log.ts';
import { ageLeftovers, InstancesSubject, leftoversIn } from './subjects/instances.ts';
import { NamesSubject } from './subjects/names.ts';
import { StartsSubject } from './subjects/starts.ts';
import { type Subject, type Violation, wrongs } from './subjects/subject.ts';
import { TokensSubject } from './subjects/tokens.ts';
import { VerdictsSubject } from './subjects/verdicts.ts';
import type { Tally } from './tally.ts';

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  readonly shipped: Shipped;
  readonly tally: Tally;
  readonly isKept: boolean;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

const lanes = 3;

export async function runKills(options: KillOptions): Promise<void> {
  const { kills, seed } = options;
  const lane = async (number: number) => {
    const name = `lane${number}`;
    const count = Math.floor((kills + lanes - 1 - number) / lanes);
    const home = new CrashHome(options.shipped.main, name);
    try {
      await new Lane(home, options, new Dice(`${seed}/${name}`)).run(count);
    } finally {
      options.tally.starts += home.starts;
      if (options.isKept) options.progress(`kept ${home.folder}`);
      else home[Symbol.dispose]();
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
}

/** One home and the gateways that live and die in it. */
class Lane {
  readonly #home: CrashHome;
  readonly #options: KillOptions;
  readonly #dice: Dice;
  readonly #tokens: TokensSubject;
  readonly #subjects: readonly Subject[];
  readonly #watches: Promise<void>[] = [];

  constructor(home: CrashHome, options: KillOptions, dice: Dice) {
    const { shipped } = options;
    this.#home = home;
    this.#options = options;
    this.#dice = dice;
    this.#tokens = new TokensSubject(home);
    this.#subjects = [
      this.#tokens,
      // Before anybody asks for a list, which may start servers.
      new InstancesSubject(home),
      new CataloguesSubject(home, shipped),
      new VerdictsSubject(home, shipped),
      new StartsSubject(home, shipped),
      new NamesSubject(home, shipped),
      new EventLogSubject(home),
    ];
    home.onWipe = (part) => {
      for (const subject of this.#subjects) subject.forget(part);
    };
  }

  async run(kills: number): Promise<void> {
    const { tally, signal, progress } = this.#options;
    for (let number = 1; number <= kills && !signal.aborted; number += 1) {
      await this.#liveAndDie(`${this.#home.name}, life ${number}`);
      if (tally.kills % 20 === 0) progress(`${tally.kills} kills`);
    }
    if (!signal.aborted) await this.#lastLife();
    await Promise.all(this.#watches);
  }

  get #others(): readonly Subject[] {
    return this.#subjects.filter((subject) => subject !== this.#tokens);
  }

  async #liveAndDie(where: string): Promise<void> {
    const { tally } = this.#options;
    const dice = this.#dice.of(where);
    const focus = dice.weighed(weights(this.#subjects)).subject;
    // What was acknowledged in the first life of a home must outlive what happens to other files.
    const isNewHome = dice.chance(0.2);
    if (isNewHome) this.#home.wipe('');
    const isFromOutside = dice.chance(0.15);
    if (this.#tokens.isUnknown) this.#home.wipe('store/tokens');
    const strike = isFromOutside ? undefined : strikeOn(focus, dice, isNewHome ? 1 : 0.4);
    focus.prepare(dice, strike?.ops?.[0] ?? null);
    const isEarly = focus.isAtStart && dice.chance(focus === this.#tokens ? 1 : 0.4);
    const faulty = { ...(strike ? { strike } : {}), seed: dice.between(1, 2 ** 31) };
    this.#home.faultPlan.set(isEarly ? faulty : {});
    const story = `${where}, ${focus.name}, ${describe(strike)}${isEarly ? ' from the start' : ''}`;
    const life = this.#begin();
    const timer = isFromOutside
      ? setTimeout(() => life.process.kill('SIGKILL'), dice.between(0, 900))
      : undefined;
    try {
      await this.#live(life, focus, dice, () => this.#home.faultPlan.set(faulty), story);
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
      await this.#afterLosing(life, story);
    } finally {
      clearTimeout(timer);
      life[Symbol.dispose]();
    }
    this.#end(life, focus, await life.process.ended, story);
    this.#watches.push(orphansOf(life.mark).then((found) => tally.found(found, story)));
  }

  #begin(): Life {
    const servers = this.#subjects.map((subject) => subject.servers());
    this.#home.configure(Object.assign({}, ...servers));
    for (const subject of this.#subjects) subject.begin();
    return this.#home.start();
  }

  /** Until it is killed, or at the latest when everybody has had his turn twice. */
  async #live(
    life: Life,
    focus: Subject,
    dice: Dice,
    storm: () => void,
    story: string,
  ): Promise<void> {
    const { tally } = this.#options;
    const listening = await life.listening();
    if (listening === undefined) return;
    this.#tokens.heard(listening);
    const client = life.client(listening.url, this.#tokens.secret);
    const encounter = { life, listening, client };
    if (this.#tokens.isUnknown) return life.kill();
    const tell = async (subject: Subject, work: Promise<readonly Violation[]>) =>
      tally.found(await this.#unlessFailed(work), `${subject.name}: ${story}`);
    for (const subject of this.#subjects) await tell(subject, subject.check(encounter));
    storm();
    const others = this.#subjects.filter((subject) => subject !== focus);
    for (const subject of [focus, ...others, focus, ...others]) {
      await tell(subject, subject.act(encounter, dice));
    }
    await life.kill();
  }

  async #unlessFailed(work: Promise<readonly Violation[]>): Promise<readonly Violation[]> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof FailedCall)) throw error;
      return [{ wrong: 'call', text: error.message }];
    }
  }

  /** A connection that breaks must mean that the gateway was killed. */
  async #afterLosing(life: Life, story: string): Promise<void> {
    const patience = new Promise((resolve) => setTimeout(resolve, 2_000, 'alive'));
    if ((await Promise.race([life.process.ended, patience])) !== 'alive') return;
    const text = 'the gateway lives, but dropped a connection';
    this.#options.tally.found([{ wrong: 'call', text }], story);
    await life.kill();
  }

  #end(
    life: Life,
    focus: Subject,
    { code, signal, stderr }: Awaited<Life['process']['ended']>,
    story: string,
  ): void {
    const { tally } = this.#options;
    if (signal !== 'SIGKILL') {
      const text = `it ended by itself (${signal ?? `code ${code}`}): ${stderr.slice(-600)}`;
      tally.found([{ wrong: 'start', text }], story);
      return;
    }
    const struck = this.#home.faultPlan.struck(life.pid);
    tally.killed(focus.name, struck);
    const fate = { isPowerCut: struck?.isPowerCut ?? false, stderr };
    const details = struck === undefined ? '' : `; ${struck.part ?? struck.when}; ${struck.undone}`;
    for (const subject of this.#subjects) {
      tally.found(subject.examine(fate), `${subject.name}: ${story}${details}`);
    }
  }

  /** Without faults: everything is there, what killed gateways left is removed, and it ends in order. */
  async #lastLife(): Promise<void> {
    const { tally } = this.#options;
    const where = `${this.#home.name}, the last life`;
    this.#home.faultPlan.set({});
    for (const subject of this.#others) subject.prepare(this.#dice, null);
    const drafts = ageLeftovers(this.#home);
    const life = this.#begin();
    const listening = await life.listening();
    if (listening === undefined) {
      return tally.found([{ wrong: 'start', text: `${wrongs.start}: ${life.stderr}` }], where);
    }
    this.#tokens.heard(listening);
    const client = life.client(listening.url, this.#tokens.secret);
    if (!this.#tokens.isUnknown) {
      for (const subject of this.#subjects) {
        const acting = subject.act({ life, listening, client }, this.#dice);
        tally.found(await this.#unlessFailed(acting), where);
      }
    }
    const { code } = await life.process.stop();
    life[Symbol.dispose]();
    if (code !== 0) tally.found([{ wrong: 'start', text: `it ended with ${code}` }], where);
    const left = leftoversIn(this.#home);
    if (left.length > 0) {
      const text = `of ${drafts} unfinished files ${left.length} are still there, such as ${left[0]}`;
      tally.found([{ wrong: 'leftover', text }], where);
    }
  }
}

/** What is written most is struck most. */
function weights(subjects: readonly Subject[]) {
  const heavy: Readonly<Record<string, number>> = { 'event log': 2, catalogues: 2 };
  return subjects.map((subject) => ({ subject, weight: heavy[subject.name] ?? 1 }));
}

function strikeOn({ moments, under }: Subject, dice: Dice, powerCuts: number): Strike {
  const { op, upTo } = dice.pick(moments);
  return {
    under,
    ops: [op],
    nth: dice.between(1, upTo),
    when: op === 'write' && dice.chance(0.7) ? 'inside' : dice.pick(['before', 'after'] as const),
    share: dice.throw(),
    isPowerCut: dice.chance(powerCuts),
  };
}

function describe(strike: Strike | undefined): string {
  if (strike === undefined) return 'killed from outside';
  const { nth, ops, when, isPowerCut } = strike;
  return `${isPowerCut ? 'power cut' : 'killed'} ${when} ${ops} ${nth}`;
}
