// A gateway as one of the processes of an instance that replace each other: who it is, its connections to the others over
// the links between them, and the key of what clients are given to bring back, which is the same in all of them. It has
// this where its store is not shared with other machines; where it is, replicas.ts does the same over that store.

import { createHmac, randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Replica } from '../../downstream/replica.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { NeighbourBus, type NeighbourLink } from '../../replicas/neighbour-bus.ts';
import { RolloutHolders } from '../../replicas/rollout-holders.ts';
import { Tunnels } from '../../replicas/tunnel/tunnels.ts';

export interface NeighboursParts {
  readonly clock: Clock;
  readonly caught: Caught;
  /** As the process that this one replaces has it; absent: there is none. */
  readonly key?: Buffer | undefined;
}

const kind = 'key';
const keyBytes = 32;

export class Neighbours implements Disposable {
  readonly replica: Replica;
  /** The peers of the HTTP front. */
  readonly tunnels: Tunnels;
  /** Who has the calls of idempotency keys. */
  readonly holders: RolloutHolders;
  readonly #bus: NeighbourBus;
  #accept: (connection: Duplex) => void = (connection) => void connection.destroy();

  constructor({ clock, caught, key = randomBytes(keyBytes) }: NeighboursParts) {
    const id = randomBytes(8).toString('hex');
    this.replica = { id, key, doServersMove: true };
    this.#bus = new NeighbourBus({ clock, caught });
    const secretFor = (use: string) =>
      createHmac('sha256', key).update(`neighbours of holdfast: ${use}`).digest();
    const holders = { bus: this.#bus, subjects: 'hfk', id, secret: secretFor('claims') };
    this.holders = new RolloutHolders(holders);
    this.tunnels = new Tunnels({
      ...{ bus: this.#bus, clock, subjects: 'hfl', id, isOneMachine: true },
      secret: secretFor('tunnels'),
      accepted: (connection) => this.#accept(connection),
      caught,
    });
  }

  /** The key, for the process at the other end, which asks for it by `keyFrom`. */
  giveKey(link: NeighbourLink): void {
    link.send(kind, { is: 'key' }, this.replica.key);
  }

  /** The process that this one replaces, or the one that replaces it; until the link ends. */
  join(link: NeighbourLink, side: 'former' | 'successor'): void {
    this.#bus.join(link, side);
  }

  /** From now on what others pass on is served by this. */
  serve(accept: (connection: Duplex) => void): void {
    this.#accept = accept;
    this.tunnels.accept();
  }

  /** The fence: new work goes to the successor. */
  leave(): void {
    this.tunnels.stopAccepting();
  }

  [Symbol.dispose](): void {
    this.holders[Symbol.dispose]();
    this.tunnels[Symbol.dispose]();
    this.#bus[Symbol.dispose]();
  }
}

/** The key of the process at the other end. Rejects with a Fault if it is not given. */
export async function keyFrom(link: NeighbourLink): Promise<Buffer> {
  let subscription: Disposable | undefined;
  const given = new Promise<Buffer>((resolve) => {
    subscription = link.on(kind, (_head, payload) => resolve(Buffer.from(payload)));
  });
  const key = await Promise.race([given, link.closed]);
  subscription?.[Symbol.dispose]();
  if (key instanceof Buffer && key.length === keyBytes) return key;
  throw new Fault('internal', 'the process that is replaced has not given its key');
}
