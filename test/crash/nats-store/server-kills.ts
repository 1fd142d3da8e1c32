// The NATS store while its server is killed: the workload of the crash test of the database, with more of it under way
// at once, on a real nats-server that is killed with kill -9 at a step that dice have chosen, and started again with what is on
// its disk. Then another store reads everything, and what the first one has acknowledged must be there, or a later change over it;
// what was removed must not come back. The store that was used all the time goes on by itself.

import { systemClock } from '../../../src/kernel/system-clock.ts';
import type { Store } from '../../../src/store/store.ts';
import { StoreError } from '../../../src/store/store-error.ts';
import type { Dice } from '../../support/dice.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { isWell, newNamespace, openNats, startPlainNats } from '../../support/nats-store-place.ts';
import { sideBySide } from '../side-by-side.ts';
import { everythingIn } from '../sqlite/everything-in.ts';
import { History, type Told } from '../sqlite/judge.ts';
import { counterLimit, type Step, type Workload, workload, writtenBy } from '../sqlite/workload.ts';
import type { Violation } from '../subjects/subject.ts';
import type { Tally } from '../tally.ts';

export const serverKills = 'NATS store: kills of the server';
export const acknowledgedSteps = 'NATS store: changes acknowledged';
export const refusedSteps = 'NATS store: changes refused';

export interface ServerKillOptions {
  readonly tally: Tally;
  readonly dice: Dice;
  readonly signal: AbortSignal;
}

/** Of one server. */
const killsOfServer = 5;
/** So many steps at most are between two kills. */
const stepsBetween = 90;
/** More than a block of the server's file: what is older is in blocks that are not written again. */
const filling = { records: 45, bytes: 200_000 };
const soon = { firstMs: 20, longestMs: 100, refusedMs: 200, steadyMs: 0 };
const durable = { durability: 'durable' } as const;
const leaseMs = 3_600_000;
const dayMs = 86_400_000;

export async function killServers(kills: number, options: ServerKillOptions): Promise<void> {
  const all = Array.from({ length: kills }, (_, at) => at);
  const servers = all.filter((at) => at % killsOfServer === 0);
  await sideBySide(servers, async (queue) => {
    for (const first of queue) {
      const dice = options.dice.of(`server ${first}`);
      await using place = await Place.open(dice);
      for (let kill = first; kill < Math.min(kills, first + killsOfServer); kill += 1) {
        if (options.signal.aborted) return;
        if (dice.chance(0.3)) await place.fill();
        const found = await place.killOnce(dice.between(1, stepsBetween));
        options.tally.tried(serverKills);
        options.tally.found(found, `NATS store, server ${first}, kill ${kill}`);
      }
      options.tally.tried(acknowledgedSteps, place.count('done'));
      options.tally.tried(refusedSteps, place.count('refused'));
    }
  });
}

/** One server, one store on it, and what was told of it. */
class Place implements AsyncDisposable {
  readonly #server: NatsServer;
  readonly #address: string;
  readonly #store: Store;
  readonly #work: Workload;
  readonly #told: Told[] = [];
  #groups = 0;

  private constructor(server: NatsServer, dice: Dice) {
    this.#server = server;
    this.#address = `${server.url}/${newNamespace()}`;
    this.#store = openNats(this.#address, { policy: soon }).store;
    // More than are used: a kill comes after at most so many steps.
    const groups = killsOfServer * stepsBetween;
    this.#work = workload(dice, { groups, atOnce: 24, largest: 120_000 });
  }

  static async open(dice: Dice): Promise<Place> {
    const place = new Place(await startPlainNats(), dice);
    await isWell(place.#store);
    return place;
  }

  count(did: Told['did']): number {
    return this.#told.filter((one) => one.did === did).length;
  }

  /** With records that are none of the workload. */
  async fill(): Promise<void> {
    const records = this.#store.records('things', durable);
    const text = 'x'.repeat(filling.bytes);
    for (let at = 0; at < filling.records; at += 1) await records.put(`filling-${at}`, text);
  }

  /** Writes until so many more steps have settled, kills the server, and looks for what is there afterwards. */
  async killOnce(after: number): Promise<readonly Violation[]> {
    const killAt = this.#told.length + after;
    let killing: Promise<void> | undefined;
    while (killing === undefined) {
      const group = this.#work.groups[this.#groups] ?? [];
      this.#groups += 1;
      const settle = async (step: Step) => {
        await this.#run(step);
        if (this.#told.length >= killAt) killing ??= this.#server.kill();
      };
      await Promise.all(group.map(settle));
    }
    await killing;
    await this.#server.startAgain();
    await isWell(this.#store);
    const groups = this.#work.groups.slice(0, this.#groups);
    const history = new History({ ...this.#work, groups }, this.#told);
    return [...this.#wrongRefusals(), ...history.judge(await this.#reading(), false)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close();
    await this.#server[Symbol.asyncDispose]();
  }

  /** By the time of the reader all leases have ended. */
  async #reading() {
    const sharedTime = () => systemClock.wallNow() + dayMs;
    const { store, problems } = openNats(this.#address, { policy: soon, sharedTime });
    await using reader = store;
    await isWell(reader);
    return await everythingIn(reader, problems);
  }

  #wrongRefusals(): readonly Violation[] {
    const wrong = this.#told.filter(
      ({ did, reason }) => did === 'refused' && reason !== 'not_kept' && reason !== 'unreadable',
    );
    return wrong.map(({ step, reason }) => ({ wrong: 'call', text: `step ${step}: ${reason}` }));
  }

  async #run(step: Step): Promise<void> {
    // What it acknowledges is on its server, whatever becomes of the connection.
    const told = (one: Omit<Told, 'step' | 'isWell'>) =>
      void this.#told.push({ step: step.step, isWell: true, ...one });
    try {
      told({ did: 'done', ...(await this.#change(step, told)) });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      told({ did: 'refused', reason: error.reason });
    }
  }

  async #change(
    step: Step,
    told: (one: Omit<Told, 'step' | 'isWell'>) => void,
  ): Promise<Pick<Told, 'sequence' | 'item'>> {
    const store = this.#store;
    switch (step.kind) {
      case 'put':
        await store.records('things', durable).put(step.key, writtenBy(step.step, step.pad));
        return {};
      case 'remove':
        await store.records('things', durable).remove(step.key);
        return {};
      case 'append':
        return {
          sequence: await store.log('events', durable).append(writtenBy(step.step, step.pad)),
        };
      case 'enqueue':
        await store.queue('work', durable).put(writtenBy(step.step, step.pad));
        return {};
      case 'work': {
        const queue = store.queue('work', durable);
        const claim = await queue.claim(leaseMs);
        if (claim === undefined) return {};
        const item = (claim.value as { readonly step: number }).step;
        told({ did: 'claimed', item });
        await queue.ack(claim.id);
        return { item };
      }
      case 'take': {
        const window = { limit: counterLimit, windowMs: null };
        await store.counter('counts', durable).take(step.key, step.amount, window);
        return {};
      }
    }
  }
}
