// The connections of the listener: those of clients, and those that other replicas have opened. There are no more than
// can be served; requests on those beyond are answered with 503. How many requests each of them has that are not
// answered yet is known, because a connection goes to another process only when it has none (rollout/).

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RareLine } from '../../kernel/rare-line.ts';
import type { Strangers } from '../../kernel/strangers.ts';

/** What is known of an open connection. */
export interface Use {
  /** Bytes that were read of it before it came here. */
  readonly readBefore: number;
  /** Responses that are not closed yet. */
  open: number;
  /** The one that tells the client that the connection will be closed; absent: none. */
  last?: ServerResponse;
}

export interface OpenConnectionsParts {
  readonly max: number;
  readonly strangers: Strangers;
  readonly full: RareLine;
}

export class OpenConnections {
  readonly #parts: OpenConnectionsParts;
  /** Until they are closed. */
  readonly #uses = new Map<Socket, Use>();
  /** Those that other replicas have opened; each as long as it is used. */
  readonly #fromPeers = new WeakSet<object>();
  /** Those on which another process has accepted a credential; each as long as it is used. */
  readonly #known = new WeakSet<object>();
  /** Connections beyond the limit, each until it has been answered. */
  readonly #beyond = new Set<Socket>();

  constructor(parts: OpenConnectionsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#uses.size;
  }

  get all(): readonly Socket[] {
    return [...this.#uses.keys()];
  }

  useOf(socket: Socket): Use | undefined {
    return this.#uses.get(socket);
  }

  /** Whether its client has said nothing here. */
  isUnread(socket: Socket): boolean {
    return this.#uses.get(socket)?.readBefore === socket.bytesRead;
  }

  isFromPeer(connection: object): boolean {
    return this.#fromPeers.has(connection);
  }

  /** Before it arrives: another replica has opened it. */
  noteFromPeer(connection: object): void {
    this.#fromPeers.add(connection);
  }

  /** Before it arrives: whose it is is known. */
  noteKnown(connection: object): void {
    this.#known.add(connection);
  }

  /** It may have been counted before Node's server takes it. */
  arrived(socket: Socket): void {
    if (this.#uses.has(socket)) return;
    const { max, strangers, full } = this.#parts;
    this.#uses.set(socket, { readBefore: socket.bytesRead, open: 0 });
    const isStranger = !this.#fromPeers.has(socket) && !this.#known.has(socket);
    if (isStranger) strangers.arrived(socket);
    if (this.#uses.size > max) {
      full.say(() => `http: ${max} connections are open; further ones are refused`);
      this.#beyond.add(socket);
    }
    socket.on('close', () => {
      this.#uses.delete(socket);
      this.#beyond.delete(socket);
    });
  }

  began({ req: { socket } }: ServerResponse): void {
    const use = this.#uses.get(socket);
    if (use !== undefined) use.open += 1;
  }

  over({ req: { socket } }: ServerResponse): void {
    const use = this.#uses.get(socket);
    if (use !== undefined) use.open -= 1;
  }

  /** Whether a request on it has to be refused because there are too many. */
  isBeyond(socket: Socket): boolean {
    if (this.#beyond.size === 0 || !this.#beyond.has(socket)) return false;
    if (this.#uses.size > this.#parts.max) return true;
    this.#beyond.delete(socket);
    return false;
  }
}
