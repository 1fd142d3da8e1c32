// One line of calls of a client: the next is sent some time after the last was answered. A client has
// several, so that it has several calls open at once. Special lines bring a server to where frames
// wait in our own queue, or calls for their turn, or let it come for another's name.

import { once } from 'node:events';
import type { Dice } from '../support/dice.ts';
import { pauseMs } from './client.ts';
import type { ClientRow } from './clients.ts';
import type { Order } from './order.ts';
import { Orders } from './orders.ts';
import { processesOf, signal } from './server-processes.ts';
import type { Tally } from './tally.ts';
import { askingForRoots } from './visits.ts';

const thinkMs = 300;

export class Lane {
  readonly #row: ClientRow;
  readonly #dice: Dice;
  readonly #orders: Orders;
  readonly #isOver: AbortSignal;
  readonly #over: Promise<unknown>;

  constructor(row: ClientRow, name: string, dice: Dice, claims: string, isOver: AbortSignal) {
    this.#row = row;
    this.#dice = dice.of(`${name}-pace`);
    this.#orders = new Orders(row.servers, dice.of(name), name, claims);
    this.#isOver = isOver;
    this.#over = isOver.aborted ? Promise.resolve() : once(isOver, 'abort');
  }

  async run(): Promise<void> {
    const { client } = this.#row;
    await this.#again(0, thinkMs, async () => {
      if (this.#dice.chance(0.01)) await client.list();
      else await this.#call(this.#orders.next());
    });
  }

  /** One with a key is said three times: twice at once, and once more afterwards. */
  async #call(order: Order): Promise<void> {
    const { client, hasGateway } = this.#row;
    // The keys of a gateway that has died are forgotten with it.
    const { key, ...without } = order;
    if (key === undefined || hasGateway) return void (await client.call(without));
    await Promise.all([client.call(order), client.call(order)]);
    // Not when it is over: its client may be leaving, and waits for nothing that begins then.
    if (!this.#isOver.aborted) await client.call(order);
  }

  /** A call with a key is said at once by two, and again when some time has passed. */
  async repeatKeys(): Promise<void> {
    const { client } = this.#row;
    await this.#again(0, thinkMs, async () => {
      const order = this.#orders.keyed();
      const twice = this.#dice.chance(0.3) ? [client.call(order)] : [];
      await Promise.all([client.call(order), ...twice]);
      for (let left = this.#dice.between(1, 3); left > 0 && !this.#isOver.aborted; left -= 1) {
        await Promise.race([pauseMs(this.#dice.between(0, 1500)), this.#over]);
        if (!this.#isOver.aborted) await client.call(order);
      }
    });
  }

  /** A server stops reading, and more is sent to it than a pipe can hold. */
  async deafen(): Promise<void> {
    const { client, servers } = this.#row;
    const deaf = servers.filter(({ isDeaf }) => isDeaf === true);
    await this.#again(2500, 7000, async () => {
      const spec = this.#dice.pick(deaf);
      const deafened = client.call(this.#orders.deafening(spec));
      await pauseMs(this.#dice.between(0, 150));
      const large = Array.from({ length: this.#dice.between(6, 20) }, () =>
        client.call(this.#orders.large(spec)),
      );
      await Promise.all([deafened, ...large]);
    });
  }

  /** A server stands still with a full pipe, for longer than calls may take, and then goes on. */
  async stall(folder: string, tally: Tally): Promise<void> {
    const { client, servers } = this.#row;
    const wide = servers.filter(
      ({ transport, concurrency, faultShare }) =>
        transport === 'stdio' && concurrency > 1 && faultShare > 0,
    );
    await this.#again(3000, 7000, async () => {
      const spec = this.#dice.pick(wide);
      const [pid] = processesOf(folder, [spec]);
      if (pid === undefined || !signal(pid, 'SIGSTOP')) return;
      tally.happened('SIGSTOP, SIGCONT');
      const large = Array.from({ length: this.#dice.between(6, 16) }, () =>
        client.call(this.#orders.large(spec)),
      );
      await pauseMs(spec.callTimeoutMs + this.#dice.between(-1000, 1500));
      signal(pid, 'SIGCONT');
      await Promise.all(large);
    });
  }

  /** The first server comes for a name that another has given already, and says that its list changed. */
  async takeNames(): Promise<void> {
    const { client, servers } = this.#row;
    const [taker, ...rest] = servers;
    const others = rest.filter(({ isSpared }) => isSpared !== true);
    if (taker === undefined) return;
    await this.#again(300, 1500, async () => {
      const plain = { server: this.#dice.pick(others).name, tool: 'echo', args: {} } as const;
      const before = await client.call(plain);
      // Only then it has the name for certain.
      if (before?.kind !== 'result') return;
      await client.call(this.#orders.taking(taker, `${plain.server}__${plain.tool}`));
      // A list that was announced to have changed is read when somebody asks for it.
      await client.list();
      await pauseMs(this.#dice.between(0, 500));
      await client.call(plain);
    });
  }

  /** Asks a server again and again which roots it was told; one after the other. */
  async askForRoots(): Promise<void> {
    const { client, rooted } = this.#row;
    if (rooted === undefined) return;
    await this.#again(100, 1500, () => client.call(askingForRoots(rooted)));
  }

  /** More calls at once than a server and its queue take. */
  async flood(): Promise<void> {
    const { client, servers } = this.#row;
    const narrow = servers.filter(({ concurrency }) => concurrency === 1);
    await this.#again(3000, 8000, async () => {
      const spec = this.#dice.pick(narrow);
      const count = Math.ceil(spec.queue * 1.3);
      const calls = Array.from({ length: count }, () =>
        client.call({ server: spec.name, tool: this.#dice.pick(['add', 'echo']), args: {} }),
      );
      await Promise.all(calls);
    });
  }

  /** What is still open when it is over is waited for by the client itself. */
  async #again(leastMs: number, mostMs: number, once: () => Promise<unknown>): Promise<void> {
    while (!this.#isOver.aborted) {
      await Promise.race([pauseMs(this.#dice.between(leastMs, mostMs)), this.#over]);
      if (!this.#isOver.aborted) await Promise.race([once(), this.#over]);
    }
  }
}
