// The instance of the windows is ended again and again, at any moment and in each of the ways in which that
// happens: killed, told to end by a signal, by the command. The windows start the next one, or somebody does
// so by hand at the same time.

import type { Dice } from '../../support/dice.ts';
import { until } from '../../support/until.ts';
import { pauseMs } from '../client.ts';
import type { Fleet } from '../fleet.ts';
import type { Tally } from '../tally.ts';

export interface InstanceHarmOptions {
  readonly fleet: Fleet;
  readonly dice: Dice;
  readonly tally: Tally;
  readonly isOver: AbortSignal;
}

const ways = [
  { way: 'SIGKILL', weight: 6 },
  { way: 'SIGTERM', weight: 2 },
  { way: 'shutdown', weight: 2 },
] as const;

export class InstanceHarm {
  readonly #options: InstanceHarmOptions;

  constructor(options: InstanceHarmOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { dice, isOver } = this.#options;
    while (!isOver.aborted) {
      await pauseMs(dice.between(500, 4000));
      if (!isOver.aborted) await this.#end();
    }
  }

  async #end(): Promise<void> {
    const { fleet, dice, tally } = this.#options;
    const { instances, report, outlived } = fleet;
    let there: readonly number[] = [];
    await until(() => {
      there = instances.processes();
      return there.length > 0;
    }, 'an instance, which its windows start').catch(({ message }: Error) => report(message));
    if (there.length === 0) return;
    const { way } = dice.weighed(ways);
    const isServed = dice.chance(0.25);
    const ending = instances.end(way, dice.pick(there)).then(
      (orphans) => orphans.forEach(outlived),
      (error: Error) => report(error.message),
    );
    if (isServed) {
      await pauseMs(dice.between(0, 300));
      instances.serve(report);
      tally.happened('serve beside the windows');
    }
    await ending;
    tally.happened(`${way} of the instance`);
  }
}
