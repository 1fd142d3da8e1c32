// Two clients of one server, of which the first tells its roots while a call of the second runs: late, so
// that the second has come since the first was asked; or asked on the stream of a call, when the second has
// long been there. The answer to the call that runs names what the server was told: not those roots.

import { readLedger } from '../support/ledger.ts';
import { pauseMs } from './client.ts';
import { HttpClient } from './client-http.ts';
import { History } from './history.ts';
import type { Order } from './order.ts';
import { rootsCapability } from './roots.ts';
import { filesOf, type ServerSpec } from './servers.ts';
import type { VisitsOptions } from './visits.ts';

/** How long a client waits at most for what it is owed before it leaves. */
const patienceMs = 20_000;

/** Visits until it is over. */
export async function lateVisits(options: VisitsOptions): Promise<void> {
  for (let number = 1; !options.isOver.aborted; number += 1) {
    await new LateVisit(options, number).run();
    await pauseMs(options.dice.between(0, 300));
  }
}

class LateVisit {
  readonly #options: VisitsOptions;
  readonly #number: number;
  readonly #spec: ServerSpec;
  /** Resolves when the first client answers the first question. */
  readonly #late: Promise<void>;
  #tell = () => {};
  #questions = 0;

  constructor(options: VisitsOptions, number: number) {
    this.#options = options;
    this.#number = number;
    this.#spec = options.fleet.nextLate();
    this.#late = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  async run(): Promise<void> {
    const isPipe = this.#spec.transport === 'stdio';
    const first = this.#client('first', isPipe ? this.#lateOnce : this.#soon);
    const second = this.#client('second', this.#soon);
    await Promise.all([first.open(), second.open()]);
    await (isPipe ? this.#answersLate(first, second) : this.#askedOnStream(first, second));
    for (const client of [first, second]) {
      await client.call(this.#telling({ asks: true }));
      await client.leave(patienceMs);
    }
  }

  /** The second comes while the first is asked. */
  async #answersLate(first: HttpClient, second: HttpClient): Promise<void> {
    const asking = first.call(this.#telling({ asks: true }));
    await Promise.race([first.asked, asking]);
    const running = await this.#running(second);
    this.#tell();
    await Promise.all([asking, running.answer]);
  }

  /** Both have used the connection when the first is asked. */
  async #askedOnStream(first: HttpClient, second: HttpClient): Promise<void> {
    for (const client of [first, second]) await client.call(this.#telling({}));
    const running = await this.#running(second);
    await first.call(this.#telling({ asks: true }));
    await running.answer;
  }

  /** A call of the second client that the server has read, and answers only in a while. */
  async #running(second: HttpClient): Promise<{ readonly answer: Promise<unknown> }> {
    const before = this.#received();
    let isOver = false;
    const answer = second.call(this.#telling({ waitMs: 1500 })).finally(() => {
      isOver = true;
    });
    // A call that ends before it is read ends the wait as well.
    while (!isOver && this.#received() === before) await pauseMs(20);
    return { answer };
  }

  /** How many calls of the second client the server has read, by its own ledger. */
  #received(): number {
    const { ledger } = filesOf(this.#options.fleet.folder, this.#spec);
    const own = `${this.#nameOf('second')}-`;
    const isOwn = (nonce: string | null) => nonce?.startsWith(own) === true;
    return readLedger(ledger).filter(({ phase, nonce }) => phase === 'received' && isOwn(nonce))
      .length;
  }

  #nameOf(client: string): string {
    return `${this.#options.name}-${this.#number}-${client}`;
  }

  /** By a server whose results are not kept. */
  #telling(args: Order['args']): Order {
    return { server: this.#spec.name, tool: 'roots', args };
  }

  readonly #soon = () => pauseMs(this.#options.dice.between(0, 300));

  readonly #lateOnce = () => {
    this.#questions += 1;
    return this.#questions === 1 ? this.#late : this.#soon();
  };

  #client(name: string, rootsReady: () => Promise<unknown>): HttpClient {
    const { fleet, tally } = this.#options;
    const history = new History(fleet.folder, this.#nameOf(name));
    const { url } = fleet.gateway;
    const capabilities = rootsCapability;
    return new HttpClient({ url, era: 'legacy', history, tally, capabilities, rootsReady });
  }
}
