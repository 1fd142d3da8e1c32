// A bus between replicas in one process: messages arrive in a later turn, in order. A test can remove a member without a
// word, as a kill would, and can make messages disappear.

import { type Bus, BusError, type BusMessage } from '../../src/replicas/bus.ts';

interface Subscription {
  readonly member: MemoryBus;
  readonly pattern: RegExp;
  readonly group: string | undefined;
  readonly heard: (message: BusMessage) => void;
}

/** The server of it. */
export class MemoryBusServer {
  readonly subscriptions = new Set<Subscription>();
  /** Called with each message; true: it is dropped. */
  drops: (subject: string, body: Uint8Array) => boolean = () => false;

  member(): MemoryBus {
    return new MemoryBus(this);
  }

  /** How many have got it. */
  deliver(subject: string, body: Uint8Array, answer: (body: Uint8Array) => void): number {
    if (this.drops(subject, body)) return 1;
    const groups = new Set<string>();
    const to = [...this.subscriptions].filter(({ member, pattern, group }) => {
      if (member.isAway || !pattern.test(subject)) return false;
      if (group === undefined) return true;
      return groups.has(group) ? false : groups.add(group);
    });
    for (const { heard } of to) setImmediate(() => heard({ subject, body, answer }));
    return to.length;
  }
}

export class MemoryBus implements Bus {
  readonly #server: MemoryBusServer;
  /** Until they are disposed. */
  readonly #losses = new Set<() => void>();
  /** Until they are disposed. */
  readonly #returns = new Set<() => void>();
  #isGone = false;
  /** Its connection is lost. */
  isAway = false;

  constructor(server: MemoryBusServer) {
    this.#server = server;
  }

  /** As after a kill. */
  vanish(): void {
    this.#isGone = true;
    for (const one of [...this.#server.subscriptions]) {
      if (one.member === this) this.#server.subscriptions.delete(one);
    }
  }

  lose(): void {
    this.isAway = true;
    for (const lost of [...this.#losses]) lost();
  }

  comeBack(): void {
    this.isAway = false;
    for (const back of [...this.#returns]) back();
  }

  publish(subject: string, body: Uint8Array): void {
    if (!this.#isGone && !this.isAway) this.#server.deliver(subject, body, () => {});
  }

  subscribe(subject: string, heard: (message: BusMessage) => void, group?: string): Disposable {
    const pattern = new RegExp(`^${subject.replaceAll('.', '\\.').replaceAll('*', '[^.]+')}$`);
    const one = { member: this, pattern, group, heard };
    this.#server.subscriptions.add(one);
    return { [Symbol.dispose]: () => void this.#server.subscriptions.delete(one) };
  }

  ask(subject: string, body: Uint8Array): Promise<Uint8Array> {
    if (this.isAway) return Promise.reject(new BusError('lost', 'the connection is lost'));
    if (this.#server.drops(subject, body)) {
      return Promise.reject(new BusError('late', 'no answer came in time'));
    }
    return new Promise((resolve, reject) => {
      const count = this.#server.deliver(subject, body, (answer) =>
        setImmediate(() => resolve(answer)),
      );
      if (count === 0) reject(new BusError('absent', `nobody listens at ${subject}`));
    });
  }

  readonly maxBytes = 1_048_576;

  onLoss(lost: () => void): Disposable {
    this.#losses.add(lost);
    return { [Symbol.dispose]: () => void this.#losses.delete(lost) };
  }

  onReturn(back: () => void): Disposable {
    this.#returns.add(back);
    return { [Symbol.dispose]: () => void this.#returns.delete(back) };
  }
}
