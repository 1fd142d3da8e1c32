// What is left of a listener from the fence on: it accepts nothing, ends what was begun, and gives its connections to the
// successor as soon as nothing is under way on them. A request that comes on one of them before that is served here and
// answered with `Connection: close`; what a client has sent after it on the same connection is not begun, so that it can
// be sent again. No connection is closed while its client may be sending: its last words are `Connection: close`, then
// its end is awaited.

import type { Server as HttpServer, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { type Clock, within } from '../../../kernel/clock.ts';
import { contain, ignored } from '../../../kernel/contain.ts';
import type { OpenConnections } from '../open-connections.ts';
import { isSettled, type SocketHandle, taken, untouched } from './handed-socket.ts';

/** Where idle connections go. */
export interface ToSuccessor {
  /** Whether there is one that takes them; if not, they stay. */
  readonly isOpen: boolean;
  /** Whoever takes it closes it. */
  connection(handle: SocketHandle, isKnown: boolean): void;
}

export interface FormerFrontParts {
  readonly server: HttpServer;
  readonly connections: OpenConnections;
  readonly clock: Clock;
  /** Whether the credential of whoever uses it was accepted. */
  readonly isKnown: (socket: Socket) => boolean;
  readonly successor: ToSuccessor;
  /** Whether nothing is left but connections: no request, parked call or session that works. */
  readonly isQuiet: () => boolean;
  /** Ends what would never end by itself. */
  readonly endStreams: () => void;
  readonly caught: (error: unknown) => void;
}

/** So often it is looked whether something is left. */
const lookMs = 100;
/** So long what a client sends without waiting for answers is begun, one after the other. */
const pipelineMs = 2_000;
/** A client that was told of the end closes its side within this time. */
const lingerMs = 2_000;

export class FormerFront {
  /** Resolves when nothing is left here. */
  readonly ended: Promise<void>;
  readonly #parts: FormerFrontParts;
  /** Connections without a request since this turn, until the next one. */
  readonly #idle = new Set<Socket>();
  /** When the fence was drawn. */
  readonly #since: number;
  #finish: () => void = ignored;
  #looking: Disposable | undefined;
  #isOver = false;

  constructor(parts: FormerFrontParts) {
    this.#parts = parts;
    this.#since = parts.clock.now();
    this.ended = new Promise((resolve) => {
      this.#finish = resolve;
    });
    // Not the one of the HTTP server: that would close idle connections and watch no late ones.
    NetServer.prototype.close.call(parts.server, ignored);
    this.#look();
  }

  /** A request that has come since; false: it must not be begun. */
  admits(res: ServerResponse): boolean {
    const use = this.#parts.connections.useOf(res.req.socket);
    if (use === undefined) return true;
    const { last } = use;
    // Its client was told that this connection is at its end, or has been sending for long enough.
    const isLate = this.#parts.clock.now() - this.#since > pipelineMs;
    if (last !== undefined && (isLate || last.headersSent)) return false;
    if (last !== undefined) last.shouldKeepAlive = true;
    use.last = res;
    res.shouldKeepAlive = false;
    this.#linger(res.req.socket);
    return true;
  }

  /** A response is over. */
  over({ req: { socket } }: ServerResponse): void {
    const use = this.#parts.connections.useOf(socket);
    if (use?.open !== 0 || use.last !== undefined) return;
    // Not within the events of Node that end it, and once for all that end together.
    if (this.#idle.size === 0) setImmediate(() => this.#giveIdle());
    this.#idle.add(socket);
  }

  #giveIdle(): void {
    const idle = [...this.#idle];
    this.#idle.clear();
    contain(() => this.#giveAll(idle), this.#parts.caught);
  }

  /** The end of its process comes, whatever is left. */
  close(): void {
    this.#isOver = true;
    this.#looking?.[Symbol.dispose]();
    this.#finish();
  }

  #look(): void {
    if (this.#isOver) return;
    const { connections, clock, isQuiet, endStreams, caught } = this.#parts;
    contain(() => {
      endStreams();
      this.#giveAll(connections.all);
    }, caught);
    if (connections.size === 0 && isQuiet()) return this.close();
    this.#looking = clock.after(lookMs, () => this.#look(), true);
  }

  #giveAll(candidates: readonly Socket[]): void {
    const { server, connections, successor, isKnown } = this.#parts;
    if (!successor.isOpen) return;
    const isUnread = (socket: Socket) => connections.isUnread(socket);
    const whole = untouched(server, connections.all, isUnread);
    for (const socket of candidates) {
      const use = connections.useOf(socket);
      const isIdle = use?.open === 0 && use.last === undefined && whole.has(socket);
      if (!isIdle || connections.isFromPeer(socket) || !isSettled(socket)) continue;
      const known = isKnown(socket);
      const handle = taken(socket);
      if (handle !== undefined) successor.connection(handle, known);
    }
  }

  /** Closed at once it could be reset, and what was written last be lost on the way. */
  #linger(socket: Socket): void {
    if (Object.hasOwn(socket, 'destroySoon')) return;
    const { clock } = this.#parts;
    const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
    socket.destroySoon = () => {
      socket.end();
      within(clock, lingerMs, closed)
        .then(() => void socket.destroy())
        .catch(ignored);
    };
  }
}
