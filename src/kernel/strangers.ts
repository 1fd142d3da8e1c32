// Connections of which nobody knows yet whose they are: accepted, and without a credential so far. They take descriptors
// that others need, so there are only so many at once. Beyond that the oldest of the address that has most is closed: an
// honest client says who it is at once, and whoever opens many closes their own.

/** What is used of a socket. */
export interface StrangerSocket {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  once(event: 'close', closed: () => void): unknown;
  destroy(): unknown;
}

/** Of a listening socket in Node. */
const usualBacklog = 511;
/** Many workers come back at once, and who is not let wait here tries again a second later, or many. */
const fewestWaiting = 128;

/** What is known of both ends of an encrypted connection, which is two objects. */
type Place = Pick<StrangerSocket, 'remoteAddress' | 'remotePort'>;

export class Strangers {
  readonly #max: number;
  /** By address, each with its connections by port, in the order in which they came; at most `max` together. */
  readonly #byAddress = new Map<string, Map<number, StrangerSocket>>();
  #size = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many a listening socket may have waiting: all of them are accepted at once, before any of them is read. */
  get backlog(): number {
    return Math.max(fewestWaiting, Math.min(usualBacklog, Math.floor(this.#max / 2)));
  }

  get size(): number {
    return this.#size;
  }

  /** It is closed when there is no room for it any more. */
  arrived(socket: StrangerSocket): void {
    const { remoteAddress: address, remotePort: port } = socket;
    // It has ended already.
    if (address === undefined || port === undefined) return;
    if (this.#size >= this.#max) this.#closeOne();
    const here = this.#byAddress.get(address) ?? new Map<number, StrangerSocket>();
    this.#byAddress.set(address, here);
    if (!here.has(port)) this.#size += 1;
    here.set(port, socket);
    socket.once('close', () => {
      if (this.#byAddress.get(address)?.get(port) === socket) this.#forget(address, port);
    });
  }

  /** Whose it is is known now. */
  known({ remoteAddress, remotePort }: Place): void {
    if (remoteAddress !== undefined && remotePort !== undefined) {
      this.#forget(remoteAddress, remotePort);
    }
  }

  /** Whether it counts as one whose it is nobody knows. */
  has({ remoteAddress = '', remotePort = 0 }: Place): boolean {
    return this.#byAddress.get(remoteAddress)?.has(remotePort) === true;
  }

  /** Their descriptors are needed. */
  closeAll(): void {
    const all = [...this.#byAddress.values()].flatMap((here) => [...here.values()]);
    this.#byAddress.clear();
    this.#size = 0;
    for (const socket of all) socket.destroy();
  }

  #closeOne(): void {
    let most: Map<number, StrangerSocket> | undefined;
    let from = '';
    for (const [address, here] of this.#byAddress) {
      if (here.size > (most?.size ?? 0)) [most, from] = [here, address];
    }
    const [oldest] = most ?? [];
    if (oldest === undefined) return;
    this.#forget(from, oldest[0]);
    oldest[1].destroy();
  }

  #forget(address: string, port: number): void {
    const here = this.#byAddress.get(address);
    if (here?.delete(port) !== true) return;
    this.#size -= 1;
    if (here.size === 0) this.#byAddress.delete(address);
  }
}
