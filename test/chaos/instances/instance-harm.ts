// The instance of the windows is ended again and again, at any moment and in each of the ways in which that
// happens: killed, told to end by a signal, by the command; sometimes just when calls have begun at a server.
// The windows start the next one, or somebody does so by hand at the same time.

import type { Dice } from '../../support/dice.ts';
import { phases } from '../../support/ledger.ts';
import { until } from '../../support/until.ts';
import { pauseMs, within } from '../client.ts';
import type { ClientRow } from '../clients.ts';
import type { Fleet } from '../fleet.ts';
import { filesOf, windowServers } from '../servers.ts';
import type { Tally } from '../tally.ts';

export interface InstanceHarmOptions {
  /** Of the storm. */
  readonly name: string;
  readonly fleet: Fleet;
  readonly windows: readonly ClientRow[];
  readonly dice: Dice;
  readonly tally: Tally;
  readonly isOver: AbortSignal;
}

/** One that has not begun by then is not waited for: the instance may be on its way. */
const begunMs = 4000;

const ways = [
  { way: 'SIGKILL', weight: 6 },
  { way: 'SIGTERM', weight: 2 },
  { way: 'shutdown', weight: 2 },
] as const;

export class InstanceHarm {
  readonly #options: InstanceHarmOptions;
  #caught = 0;
  #ends = 0;

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
    // The first of each storm is the worst: even the shortest run has one.
    const isFirst = this.#ends === 0;
    this.#ends += 1;
    const { way } = isFirst ? ways[0] : dice.weighed(ways);
    const afterwards = isFirst || dice.chance(0.5) ? await this.#catchCalls() : () => {};
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
    await afterwards();
  }

  /** Two calls that take a while, one of them with a key, have begun; what is to be done when it has ended. */
  async #catchCalls(): Promise<() => Promise<unknown>> {
    const { name, dice, fleet, windows } = this.#options;
    const [calm] = windowServers;
    if (calm === undefined) throw new Error('there is no server behind the windows');
    const { client } = dice.pick(windows);
    this.#caught += 1;
    const key = `key-${name}-caught-${this.#caught}`;
    const plain = { server: calm.name, tool: 'slow', args: { ms: 1000 } } as const;
    const calls = [client.call(plain), client.call({ ...plain, key })];
    const { ledger } = filesOf(fleet.folder, calm);
    const hasBegun = until(() => phases(ledger, key).includes('begin'), 'its beginning', begunMs);
    await within(begunMs, Promise.race([hasBegun.catch(() => {}), ...calls]));
    return () => Promise.all([...calls, client.call({ ...plain, key })]);
  }
}
