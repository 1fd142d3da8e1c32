// A gateway below a pid-holder, as one in a row of processes that replace each other: at its beginning what the process
// before has handed over, if there was one, and at its end how it hands over itself. Each part that has clients, servers
// or stored data says here how it is given to the next process; the order is: clients first, so that nothing new
// begins, then servers, then what is stored.

import type { OpenedHost } from '../../../host/create-host.ts';
import { type Clock, within } from '../../../kernel/clock.ts';
import { type Caught, ignored } from '../../../kernel/contain.ts';
import { Fault } from '../../../kernel/fault.ts';
import { isRecord } from '../../../kernel/json-values.ts';
import type { Fenced, HandOver } from '../../../rollout/attempt.ts';
import type { HolderClient } from '../../../rollout/holder-client.ts';
import type { JsonValue, Link } from '../../../rollout/link.ts';
import type { PassedOn } from '../../../rollout/rollout-words.ts';
import type { RolloutHistory, ServingRollouts } from '../../../rollout/serving-rollouts.ts';
import type { ReadSnapshot, SnapshotPart } from '../../../rollout/snapshot.ts';
import { FormerStore } from '../../../store/remote/former-store.ts';
import { StoreOverRollout } from '../../../store/remote/store-over-rollout.ts';
import { keyFrom, Neighbours } from '../neighbours.ts';
import { Arrival } from './arrival.ts';
import { PassedSockets } from './passed-sockets.ts';
import { GivenServers, TakenServers } from './server-lines.ts';

/** A part of the gateway that clients use. */
export interface Giver {
  /** From now on nothing new begins here. */
  give(link: Link): Promise<Given> | Given;
}

export interface Given {
  readonly parts?: readonly SnapshotPart[];
  readonly sessions?: number;
  /** Resolves when nothing is left of it here. */
  readonly ended: Promise<unknown>;
  /** Called when nothing is left of all parts here, or in the processes before: what others may still use until then. */
  readonly last?: (() => Promise<unknown>) | undefined;
  /** What does not go along, each in a few words. */
  readonly left?: readonly string[];
}

export interface SuccessionParts {
  readonly holder: HolderClient;
  readonly clock: Clock;
  readonly program: string;
  readonly caught: Caught;
  /** Each step in a line. */
  readonly progress: (text: string) => void;
}

const hostPart = 'host';
const historyPart = 'history';
/** One that does not read for so long has no use for it. */
const lastWordsMs = 10_000;

export class Succession implements HandOver, Disposable {
  readonly holder: HolderClient;
  readonly neighbours: Neighbours;
  readonly store: StoreOverRollout;
  /** Connections of clients that the process before gives away. */
  readonly sockets: PassedSockets;
  /** Of this process. */
  readonly history: RolloutHistory | undefined;
  /** Resolves when another process serves and nothing is left to do here. */
  readonly replaced: Promise<void>;
  /** Resolves when the process before was asked for the end of the instance, and could only pass that on. */
  readonly endAsked: Promise<void>;
  /** What was handed over to this process; undefined: it is the first. */
  readonly arrival: Arrival | undefined;
  readonly #yours: ReadSnapshot | undefined;
  readonly #parts: SuccessionParts;
  /** A few, until they are disposed of. */
  readonly #givers = new Set<Giver>();
  #host: OpenedHost | undefined;
  #rollouts: ServingRollouts | undefined;
  #given: readonly Given[] = [];
  #adopted: Promise<void> = Promise.resolve();
  #isLeaving = false;
  #replace: () => void = ignored;
  #askEnd: () => void = ignored;
  /** To the process that serves now. */
  #next: Link | undefined;

  private constructor(
    parts: SuccessionParts,
    { neighbours, sockets }: Pick<Succession, 'neighbours' | 'sockets'>,
    arrived?: Arrived,
  ) {
    const { caught, holder } = parts;
    this.#parts = parts;
    this.holder = holder;
    this.neighbours = neighbours;
    this.sockets = sockets;
    this.arrival = arrived?.arrival;
    this.#yours = arrived?.yours;
    const former = arrived && formerStore(arrived.arrival, caught);
    this.store = new StoreOverRollout(former);
    this.history = arrived && historyIn(arrived.yours.take(historyPart)?.data);
    this.replaced = new Promise((resolve) => {
      this.#replace = resolve;
    });
    this.endAsked = new Promise((resolve) => {
      this.#askEnd = resolve;
    });
  }

  /** For a successor it resolves at the fence. Throws a Fault. */
  static async open(parts: SuccessionParts): Promise<Succession> {
    const { holder, program, clock, caught, progress } = parts;
    // From the beginning: connections come another way than what is said about them.
    const sockets = new PassedSockets(holder);
    if (!holder.isSuccessor) {
      return new Succession(parts, { sockets, neighbours: new Neighbours({ clock, caught }) });
    }
    const arrival = new Arrival(holder, program, progress);
    const yours = await arrival.yours();
    const key = await keyFrom(arrival.link);
    const neighbours = new Neighbours({ clock, caught, key });
    neighbours.join(arrival.link, 'former');
    return new Succession(parts, { sockets, neighbours }, { arrival, yours });
  }

  /** The fence is drawn: nothing new begins here. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** A part of what the process before has handed over. */
  part(name: string): { readonly data: unknown; readonly bytes: Buffer } | undefined {
    return this.#yours?.take(name);
  }

  /** The host goes on where that of the process before was. Throws a Fault. */
  restore(host: OpenedHost, rollouts: ServingRollouts): void {
    this.#host = host;
    this.#rollouts = rollouts;
    const { arrival } = this;
    const state = this.part(hostPart);
    const connections = this.part('connections');
    if (arrival === undefined) return;
    if (state === undefined || connections === undefined) {
      throw new Fault('internal', 'the process before has not handed over its servers');
    }
    const { link } = arrival;
    const parts = { link, mayBegin: arrival.claimed };
    const taken = new TakenServers(parts, connections.data, connections.bytes);
    const restored = { payload: state.bytes, connections: taken.all, link };
    const restoring = host.restore({ ...restored, state: state.data as never });
    restoring.ended.catch(this.#parts.caught);
    this.#adopted = restoring.adopted;
    arrival.passedOn = (wish) => this.passedOn(wish);
    link.on('counts', (head) => host.addCounts(head as never));
  }

  /**
   * Everything is read and can be used: resolves when this is the serving process and has its servers; at once if it is
   * the first. Before that nothing may happen here that another successor would do again.
   */
  async mayServe(): Promise<void> {
    if (this.arrival === undefined) return;
    await this.arrival.taken();
    await this.#adopted;
  }

  /** What the process before was asked for, and could not do any more. */
  passedOn({ again, shutdown }: PassedOn): void {
    if (shutdown) this.#askEnd();
    else if (again) this.#rollouts?.request();
  }

  /** The instance ends: resolves when the processes before this one have ended what they had begun, or the time is over. */
  async formersEnded(ms: number): Promise<void> {
    if (this.arrival !== undefined) await within(this.#parts.clock, ms, this.arrival.link.closed);
  }

  /** It says at the fence how it is given away; until it is disposed of. */
  add(giver: Giver): Disposable {
    this.#givers.add(giver);
    return { [Symbol.dispose]: () => void this.#givers.delete(giver) };
  }

  // --- a rollout, at the incumbent ---------------------------------------------------------

  async prepare(): Promise<readonly SnapshotPart[]> {
    return [{ name: 'about', data: { pid: process.pid } }];
  }

  async fence(link: Link): Promise<Fenced> {
    const host = this.#host;
    if (host === undefined) throw new Fault('internal', 'there is nothing to hand over yet');
    this.#isLeaving = true;
    try {
      return await this.#handOver(link, host);
    } catch (error) {
      // A part of it is given away already.
      this.#startAnew();
      throw error;
    }
  }

  async #handOver(link: Link, host: OpenedHost): Promise<Fenced> {
    const { neighbours } = this;
    neighbours.giveKey(link);
    neighbours.join(link, 'successor');
    neighbours.leave();
    // Whoever has given its last client away may have forgotten it.
    host.handOverSpent(link);
    const given = await Promise.all([...this.#givers].map((giver) => giver.give(link)));
    this.#given = given;
    const servers = new GivenServers(link);
    const handed = await host.handOver({ connection: (one) => servers.give(one), link });
    await this.store.handOver(link);
    const state: SnapshotPart = {
      name: hostPart,
      data: JSON.parse(JSON.stringify(handed.state)) as JsonValue,
      bytes: handed.payload,
    };
    const history: SnapshotPart = { name: historyPart, data: { ...this.#nextHistory } };
    return {
      parts: [state, servers.part(), history, ...given.flatMap(({ parts = [] }) => parts)],
      servers: servers.count,
      sessions: given.reduce((sum, { sessions = 0 }) => sum + sessions, 0),
      left: given.flatMap(({ left = [] }) => left),
    };
  }

  giveUp(): void {
    this.#startAnew();
  }

  former(link: Link): void {
    this.#next = link;
    // The processes before this one are reached by way of it.
    const before = this.arrival?.link.closed;
    const given = this.#given;
    const ended = Promise.all([...given.map((one) => one.ended), before]);
    const told = () => {
      const counts = this.#host?.takeCounts();
      if (counts !== undefined) link.send('counts', JSON.parse(JSON.stringify(counts)));
    };
    ended
      .then(() => Promise.all(given.map(({ last }) => last?.())))
      .then(told)
      .then(this.#replace)
      .catch(this.#parts.caught);
  }

  /** Resolves when the next process has read everything that was said to it: answers for clients are among it. */
  async lastWords(): Promise<void> {
    const link = this.#next;
    link?.[Symbol.dispose]();
    if (link !== undefined) await within(this.#parts.clock, lastWordsMs, link.closed);
  }

  get #nextHistory(): RolloutHistory {
    const next = this.#rollouts?.nextHistory;
    return next ?? { generation: 2, rollouts: 1, runs: 1, failures: 0 };
  }

  /** What was given away cannot be taken back: the holder starts another one. */
  #startAnew(): void {
    process.kill(process.pid, 'SIGKILL');
  }

  [Symbol.dispose](): void {
    this.neighbours[Symbol.dispose]();
  }
}

interface Arrived {
  readonly arrival: Arrival;
  readonly yours: ReadSnapshot;
}

function formerStore({ link, claimed }: Arrival, caught: Caught): FormerStore {
  return new FormerStore({ link, mayBegin: claimed, caught });
}

function historyIn(data: unknown): RolloutHistory | undefined {
  if (!isRecord(data)) return undefined;
  const { generation, rollouts, runs, failures } = data;
  const all = [generation, rollouts, runs, failures];
  if (!all.every((one) => Number.isSafeInteger(one))) return undefined;
  return data as unknown as RolloutHistory;
}
