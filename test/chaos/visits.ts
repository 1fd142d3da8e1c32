// Clients that come to a server that asks for their roots, several at the same time, each with roots of
// its own: at once, or just when the first of them is being asked. They call, leave, and others come.
// Whatever such a server says to one of them must not name the roots of another.

import type { Dice } from '../support/dice.ts';
import { type Client, pauseMs } from './client.ts';
import { HttpClient } from './client-http.ts';
import type { Fleet } from './fleet.ts';
import { History } from './history.ts';
import type { Order } from './order.ts';
import { rootsCapability } from './roots.ts';
import type { ServerSpec } from './servers.ts';
import type { Tally } from './tally.ts';

export interface VisitsOptions {
  /** Of the storm and of this series of visits. */
  readonly name: string;
  readonly fleet: Fleet;
  readonly dice: Dice;
  readonly tally: Tally;
  readonly isOver: AbortSignal;
}

/** The same for all, so that a result that is kept could be given to any of them. */
export function askingForRoots({ name: server }: ServerSpec): Order {
  return { server, tool: 'roots', args: { ttlMs: 60_000 } };
}

/** How long a visitor waits at most for what it is owed before it leaves. */
const patienceMs = 20_000;

/** Visits until it is over. */
export async function visits(options: VisitsOptions): Promise<void> {
  for (let number = 1; !options.isOver.aborted; number += 1) {
    await new Visit(options, number).run();
    await pauseMs(options.dice.between(0, 300));
  }
}

/** One when nothing is harmed any more: on a busy machine no server may have become ready in time before. */
export async function lastVisit(options: Omit<VisitsOptions, 'isOver'>): Promise<void> {
  await new Visit({ ...options, isOver: new AbortController().signal }, 1).run();
}

/** Clients that come to one server at the same time. */
class Visit {
  readonly #options: VisitsOptions;
  readonly #number: number;
  readonly #spec: ServerSpec;

  constructor(options: VisitsOptions, number: number) {
    this.#options = options;
    this.#number = number;
    this.#spec = options.fleet.nextRooted();
  }

  async run(): Promise<void> {
    const { dice } = this.#options;
    const first = this.#client('first', true);
    const second = this.#client('second', true);
    const last = this.#client('last', dice.chance(0.7));
    const all = [first, second, last];
    await Promise.all(all.map((client) => client.open()));
    const calling = this.#calls(first);
    const secondComes = dice.chance(0.7) ? Promise.race([first.asked, calling]) : pauseMs(0);
    const lastComes = pauseMs(dice.between(0, 900));
    await Promise.all([
      calling,
      secondComes.then(() => this.#calls(second)),
      lastComes.then(() => this.#calls(last)),
    ]);
  }

  #client(name: string, hasRoots: boolean): HttpClient {
    const { name: series, fleet, dice, tally } = this.#options;
    const history = new History(fleet.folder, `${series}-${this.#number}-${name}`);
    const capabilities = hasRoots ? rootsCapability : {};
    const rootsReady = () => pauseMs(dice.between(0, 400));
    const { url } = fleet.gateway;
    return new HttpClient({ url, era: 'legacy', history, tally, capabilities, rootsReady });
  }

  /** One call after the other: what a client has asked twice at once would share one answer. */
  async #calls(client: Client): Promise<void> {
    const { dice, isOver } = this.#options;
    for (let left = dice.between(2, 5); left > 0 && !isOver.aborted; left -= 1) {
      await client.call(askingForRoots(this.#spec));
      if (dice.chance(0.1)) await client.vanish();
      await pauseMs(dice.between(0, 150));
    }
    await client.leave(patienceMs);
  }
}
