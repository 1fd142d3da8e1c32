// What holds for every order of events: never two successors, never a fence before ready, every run ends, everybody
// who asks is told once, and after each failure the incumbent is what it was.

import { describe, expect, it } from 'vitest';
import { Dice } from '../../test/support/dice.ts';
import { initialRollout, rolloutDeadline, rolloutStep } from './rollout-machine.ts';
import {
  type FilesState,
  type RolloutEffect,
  type RolloutEvent,
  type RolloutMachineState,
  rolloutLimits,
} from './rollout-state.ts';

const cause = { reason: 'exited', detail: 'it ended' } as const;

/** A holder and an asker that check every effect. */
class World {
  state: RolloutMachineState = initialRollout();
  at = 0;
  /** The successor that exists, as the holder sees it. */
  #successor: { run: number; isReady: boolean; isFenced: boolean; isGivenUp: boolean } | undefined;
  /** What was handed over in this run is not with the incumbent any more. */
  #handed: number | undefined;
  readonly #open = new Set<number>();
  #tickets = 0;
  served = 0;
  failed = 0;
  /** How often what was handed over was taken by nobody. */
  left = 0;
  readonly #dice: Dice;
  readonly policy: typeof rolloutLimits & { isAuto: boolean };

  constructor(dice: Dice) {
    this.#dice = dice;
    this.policy = { ...rolloutLimits, isAuto: dice.chance(0.5) };
  }

  get openTickets(): number {
    return this.#open.size;
  }

  say(event: RolloutEvent): void {
    if (event.kind === 'ready' && this.#successor?.run === event.run)
      this.#successor.isReady = true;
    const before = this.state;
    const [next, effects] = rolloutStep(before, event, this.policy);
    this.state = next;
    // It has ended, or the holder has not answered within the limit.
    const isOver = before.phase.kind === 'abandoning' && next.phase.kind !== 'abandoning';
    if (isOver && next.phase.kind !== 'former') this.#successor = undefined;
    for (const effect of effects) this.#check(effect, before);
  }

  #check(effect: RolloutEffect, before: RolloutMachineState): void {
    switch (effect.kind) {
      case 'start':
        expect(this.#successor, 'two successors at once').toBeUndefined();
        expect(effect.lost !== null, 'who has what was handed over').toBe(
          this.#handed === effect.run,
        );
        if (effect.lost === null) expect(before.isEnding, 'a start while it ends').toBe(false);
        this.#successor = { run: effect.run, isReady: false, isFenced: false, isGivenUp: false };
        return;
      case 'fence':
        expect(this.#successor, 'a fence before ready').toMatchObject({
          run: effect.run,
          isReady: true,
          isFenced: false,
          isGivenUp: false,
        });
        Object.assign(this.#successor ?? {}, { isFenced: true });
        this.#handed = effect.run;
        return;
      case 'abandon':
        expect(this.#successor).toMatchObject({
          run: effect.run,
          isGivenUp: false,
        });
        Object.assign(this.#successor ?? {}, { isGivenUp: true });
        return;
      case 'passOn':
        expect(this.#successor).toMatchObject({ run: effect.run, isFenced: true });
        this.served += 1;
        expect(this.served, 'two successors serve').toBe(1);
        return;
      case 'giveUp':
        expect(this.#handed, 'nobody has what was never handed over').toBe(effect.run);
        this.#handed = undefined;
        this.left += 1;
        return;
      case 'tell':
        if (effect.outcome.kind === 'failed') this.failed += 1;
        for (const ticket of effect.tickets) {
          expect(this.#open.delete(ticket), `${ticket} is told twice`).toBe(true);
        }
    }
  }

  ask(): void {
    this.#tickets += 1;
    this.#open.add(this.#tickets);
    this.say({ kind: 'asked', ticket: this.#tickets, at: this.at });
  }

  /** Time passes up to the next deadline. */
  tickOn(): boolean {
    const due = rolloutDeadline(this.state, this.policy);
    if (due === undefined) return false;
    this.at = Math.max(this.at, due);
    this.say({ kind: 'tick', at: this.at });
    return true;
  }

  /** One event that may happen now, or never should. */
  random(): void {
    const { at } = this;
    const dice = this.#dice;
    const run = Math.max(1, this.state.runs - (dice.chance(0.15) ? 1 : 0));
    const files: FilesState = dice.pick<FilesState>([
      { kind: 'same' },
      { kind: 'settling' },
      { kind: 'changed', print: dice.pick(['b', 'c']) },
      { kind: 'unreadable', cause: 'EACCES' },
    ]);
    const isFenced = this.state.phase.kind === 'abandoning' && this.state.phase.isFenced;
    const canServe = isFenced && this.#successor?.isFenced === true && dice.chance(0.25);
    const outcome = canServe ? 'serving' : isFenced ? 'handed' : 'ended';
    const events: readonly (RolloutEvent & { weight: number })[] = [
      { kind: 'files', files, at, weight: 5 },
      { kind: 'serving', at, weight: 3 },
      { kind: 'formers', count: dice.between(0, 5), at, weight: 2 },
      { kind: 'ready', run, at, weight: 4 },
      { kind: 'served', run, at, weight: 2 },
      { kind: 'failed', run, cause, at, weight: 3 },
      { kind: 'abandoned', run, outcome, at, weight: 4 },
      { kind: 'policy', at, weight: 1 },
      { kind: 'shutdown', at, weight: 0.2 },
      { kind: 'tick', at, weight: 2 },
    ];
    if (dice.chance(0.2)) this.ask();
    else this.say(dice.weighed(events));
    this.at += dice.pick([0, 1, 400, 6_000]);
    if (rolloutDeadline(this.state, this.policy) !== undefined && dice.chance(0.3)) this.tickOn();
  }
}

describe('rollouts in any order of events', () => {
  it('never have two successors or an early fence, always end, and tell everybody once', () => {
    let [served, failed, left] = [0, 0, 0];
    for (let seed = 0; seed < 1_000; seed += 1) {
      const world = new World(new Dice(`rollout ${seed}`));
      for (let steps = 0; steps < 60; steps += 1) world.random();
      // Then nothing happens any more but time.
      for (let steps = 0; world.tickOn(); steps += 1)
        expect(steps, `seed ${seed}`).toBeLessThan(20);
      expect(['idle', 'former'], `seed ${seed}`).toContain(world.state.phase.kind);
      expect(world.openTickets, `seed ${seed}`).toBe(0);
      served += world.served;
      failed += world.failed;
      left += world.left;
    }
    // Otherwise the orders would show little.
    expect(Math.min(served, failed)).toBeGreaterThan(50);
    expect(left).toBeGreaterThan(5);
  });
});
