// One gateway is rolled over at any moment, by the command, by SIGHUP, and by two at once; and processes are killed with
// kill -9 in the middle of it: the successor, both, the pid-holder; or the serving process alone. A rollout to which
// nothing is done excuses nothing. What has been an end of the instance is noted: another instance serves then.

import type { Dice } from '../../support/dice.ts';
import { until } from '../../support/until.ts';
import { pauseMs, within } from '../client.ts';
import { monotonicMs } from '../history.ts';
import { catchesHangups } from '../process-list.ts';
import { signal } from '../server-processes.ts';
import type { Tally } from '../tally.ts';
import { outcomesIn, type Rollable } from './rollable.ts';
import type { RolloutLog } from './rollout-log.ts';
import { isThere, servingOf } from './serving.ts';

export const rolledOver = 'rollout';
export const servingKilled = 'kill -9 of a serving process';
export const successorKilled = 'kill -9 of a successor';
export const bothKilled = 'kill -9 of a successor and its incumbent';
export const holderKilled = 'kill -9 of a pid-holder in a rollout';

export type RolloutEvent = 'roll' | 'twice' | 'successor' | 'both' | 'serving' | 'holder';

export interface RolloutHarmOptions {
  readonly rollable: Rollable;
  readonly log: RolloutLog;
  readonly report: (finding: string) => void;
  readonly dice: Dice;
  readonly tally: Tally;
  readonly isOver: AbortSignal;
  /** What comes first, so that the shortest run has each kind somewhere. */
  readonly first: readonly RolloutEvent[];
  readonly leastMs: number;
  readonly mostMs: number;
}

const weights: readonly { readonly event: RolloutEvent; readonly weight: number }[] = [
  { event: 'roll', weight: 8 },
  { event: 'twice', weight: 3 },
  { event: 'successor', weight: 4 },
  { event: 'both', weight: 1 },
  { event: 'serving', weight: 2 },
  { event: 'holder', weight: 2 },
];

/** A successor may take 15 seconds, and so may what it takes over; it is followed by another up to three times. */
const settledMs = 120_000;
const appearsMs = 15_000;
/** A pid-holder gives up at the sixth death within a minute, and it may be an unlucky start that is the fifth. */
const mostDeaths = 3;
const minuteMs = 60_000;

export class RolloutHarm {
  readonly #options: RolloutHarmOptions;
  /** When serving processes below a pid-holder were killed; as many as the run has such kills. */
  readonly #deaths = new Map<number, number[]>();

  constructor(options: RolloutHarmOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { dice, isOver, first, leastMs, mostMs } = this.#options;
    const left = [...first];
    await pauseMs(dice.between(200, 1000));
    while (!isOver.aborted || left.length > 0) {
      const event = left.shift() ?? dice.weighed(weights).event;
      const since = monotonicMs();
      await this.#happen(event);
      // On a busy machine each takes longer, and they would be all that it does.
      const tookMs = Math.min(monotonicMs() - since, mostMs);
      const pause = left.length > 0 ? 500 : Math.max(dice.between(leastMs, mostMs), tookMs);
      if (!isOver.aborted) await pauseMs(pause);
    }
  }

  async #happen(event: RolloutEvent): Promise<void> {
    const { rollable, tally } = this.#options;
    const holder = await this.#holder();
    if (holder === undefined) return;
    if (event === 'roll') return await rollable.calmly(() => this.#roll(holder, 1));
    if (event === 'twice') return await rollable.calmly(() => this.#roll(holder, 2));
    if (event === 'holder') {
      if (rollable.killHolder === undefined) {
        return await rollable.calmly(() => this.#roll(holder, 1));
      }
      this.#hangUp(holder);
      await pauseMs(this.#moment());
      await rollable.killHolder();
      return tally.happened(holderKilled);
    }
    if (!this.#mayDie(holder)) return await rollable.calmly(() => this.#roll(holder, 1));
    await rollable.alone(() => rollable.endures(event, () => this.#kill(event, holder)));
  }

  /** Nothing else is done to it by us; whether it succeeds if somebody else ends it is not said. */
  async #roll(holder: number, times: number): Promise<void> {
    const { rollable, log, tally, dice, report } = this.#options;
    const { ask, gateway, name } = rollable;
    const [from, of, before] = [monotonicMs(), gateway(), outcomesIn(rollable.said())];
    const incumbent = servingOf(holder).at(-1);
    const asked = Array.from({ length: times }, (_, at) =>
      ask !== undefined && (times === 1 ? dice.chance(0.6) : at > 0)
        ? ask()
        : this.#hungUp(holder, before.rolled + before.failed, incumbent?.pid),
    );
    await Promise.all(asked);
    const after = outcomesIn(rollable.said());
    for (let rolled = before.rolled; rolled < after.rolled; rolled += 1) {
      log.tookOver(of, from);
      tally.happened(rolledOver);
    }
    if (times === 2) tally.happened('two rollouts at once');
    const isSame = servingOf(holder).at(-1)?.instance === incumbent?.instance;
    if (after.failed === before.failed || !isSame || of !== gateway()) return;
    if (after.late > before.late) tally.happened('rollout that was too late');
    else report(`[rollout] a rollout of ${name} to which nothing was done has failed`);
  }

  /** Resolves when a rollout has been reported since, or nobody is there who could. */
  async #hungUp(holder: number, reported: number, incumbent: number | undefined): Promise<null> {
    const { rollable } = this.#options;
    this.#hangUp(holder);
    const isReported = () => {
      const { rolled, failed } = outcomesIn(rollable.said());
      return rolled + failed > reported;
    };
    const isGone = () => !isThere(holder) || (incumbent !== undefined && !isThere(incumbent));
    await until(() => isReported() || isGone(), 'a rollout', settledMs).catch(() => {});
    return null;
  }

  #hangUp(holder: number): void {
    // Before it listens for that signal it ends by it, as every process does.
    if (catchesHangups(holder)) signal(holder, 'SIGHUP');
  }

  /** Since when it was an end, if it was one. */
  async #kill(event: RolloutEvent, holder: number): Promise<number | undefined> {
    const { rollable, tally } = this.#options;
    const incumbent = servingOf(holder).at(-1);
    const before = outcomesIn(rollable.said());
    if (incumbent === undefined) return undefined;
    let victims = [incumbent.pid];
    if (event !== 'serving') {
      this.#hangUp(holder);
      const newcomer = await this.#newcomer(holder, incumbent.ordinal);
      if (newcomer === undefined) return undefined;
      await pauseMs(this.#moment());
      victims = event === 'both' ? [incumbent.pid, newcomer] : [newcomer];
    }
    const from = monotonicMs();
    const killed = victims.filter((pid) => signal(pid, 'SIGKILL'));
    if (killed.length === 0) return undefined;
    this.#died(holder);
    tally.happened(
      { serving: servingKilled, both: bothKilled }[event as string] ?? successorKilled,
    );
    return await this.#settled({ holder, instance: incumbent.instance, killed, before, from });
  }

  /** Until another instance serves, or the same goes on; since when it was an end, if it was one. */
  async #settled(of: {
    readonly holder: number;
    readonly instance: string;
    readonly killed: readonly number[];
    readonly before: { readonly rolled: number; readonly failed: number };
    readonly from: number;
  }): Promise<number | undefined> {
    const { rollable, report } = this.#options;
    const { holder, instance, killed, before, from } = of;
    let end: 'lost' | 'kept' | undefined;
    await until(
      () => {
        const { rolled, failed } = outcomesIn(rollable.said());
        const serving = servingOf(holder).filter(({ pid }) => !killed.includes(pid));
        const isOther = serving.some((one) => one.instance !== instance);
        const isReported = rolled > before.rolled || failed > before.failed;
        if (!isThere(holder) || isOther) end = 'lost';
        // It had taken over when it was killed, or another one has.
        else if (isReported && serving.length > 0) end = 'kept';
        return end !== undefined;
      },
      'the outcome of a kill',
      settledMs,
    ).catch(({ message }: Error) => report(`[rollout] ${rollable.name}: ${message}`));
    if (end === 'kept' && (await this.#isStill(holder, instance, killed))) return undefined;
    if (isThere(holder)) await rollable.servesAgain();
    return from;
  }

  /** The report of a rollout comes just before the end, if the successor was killed when it served already. */
  async #isStill(holder: number, instance: string, killed: readonly number[]): Promise<boolean> {
    const isGone = () => killed.every((pid) => !isThere(pid));
    await until(isGone, 'the end of a process that was killed').catch(() => {});
    const hasDecided = () =>
      servingOf(holder).some(({ pid }) => !killed.includes(pid)) || !isThere(holder);
    await until(hasDecided, 'a serving process').catch(() => {});
    await pauseMs(decidedMs);
    return servingOf(holder).at(-1)?.instance === instance;
  }

  async #newcomer(holder: number, after: number): Promise<number | undefined> {
    let found: number | undefined;
    const look = until(
      () => {
        found = servingOf(holder).findLast(({ ordinal }) => ordinal > after)?.pid;
        return found !== undefined || !isThere(holder);
      },
      'a successor',
      appearsMs,
    );
    await look.catch(() => {});
    return found;
  }

  async #holder(): Promise<number | undefined> {
    const { rollable } = this.#options;
    const isThereOne = () => rollable.holder() !== undefined;
    await within(
      appearsMs,
      until(isThereOne, 'a pid-holder', appearsMs).catch(() => {}),
    );
    return rollable.holder();
  }

  /** How long after its beginning: a rollout takes a second or more, and most of that is the start of a process. */
  #moment(): number {
    const { dice } = this.#options;
    return dice.chance(0.3) ? dice.between(0, 300) : dice.between(200, 2500);
  }

  #mayDie(holder: number): boolean {
    const since = monotonicMs() - minuteMs;
    return (this.#deaths.get(holder) ?? []).filter((at) => at > since).length < mostDeaths;
  }

  #died(holder: number): void {
    this.#deaths.set(holder, [...(this.#deaths.get(holder) ?? []), monotonicMs()]);
  }
}

/** A pid-holder has seen the death of its child by then, and has ended those before it. */
const decidedMs = 300;
