// The simulated network: a client that reaches remote servers with latency. A connection can be
// refused before anything is sent, break before the request was read or while the answer comes, and
// drip. Giving up closes the exchange on our side; whether the server had read the request by then
// is chance, as it is in the world. What a server answers is the server's business.

import type {
  HttpClient,
  HttpInFlight,
  HttpListener,
  HttpRequest,
} from '../../src/upstream/http/http-client.ts';
import type { ServedCall } from './ledger.ts';
import { type Answer, execute } from './sim-server.ts';
import type { Tether } from './tether.ts';
import type { World } from './world.ts';

export interface RemoteServer {
  receive(request: HttpRequest, reply: Reply): void;
}

export class SimHttp {
  readonly #world: World;
  readonly #serverAt: (url: URL) => RemoteServer;
  /** By the process of the host that has asked. */
  readonly #open = new Map<Reply, Tether>();

  constructor(world: World, serverAt: (url: URL) => RemoteServer) {
    this.#world = world;
    this.#serverAt = serverAt;
  }

  /** Exchanges that are neither ended nor given up. */
  get open(): number {
    return this.#open.size;
  }

  openOf(tether: Tether): number {
    return [...this.#open.values()].filter((one) => one === tether).length;
  }

  /** The network as one life of the host sees it. */
  for(tether: Tether): HttpClient {
    return {
      send: (request, listener) => this.#send(tether, request, listener),
      [Symbol.asyncDispose]: async () => {},
    };
  }

  /** A process of the host is killed: its sockets close, and nobody is left to be told. */
  crash(killed: Tether): void {
    for (const [reply, tether] of this.#open) if (tether === killed) reply.abort();
  }

  #send(tether: Tether, request: HttpRequest, listener: HttpListener): HttpInFlight {
    const { clock, dice, faults } = this.#world;
    const reply = new Reply(this.#world, listener, () => void this.#open.delete(reply));
    this.#open.set(reply, tether);
    clock.later(dice.between(0, 5), () => {
      if (reply.isOver || tether.isCut) return;
      if (faults.occurs('http-refused')) return reply.fail('ECONNREFUSED');
      listener.sent();
      if (faults.occurs('http-reset-unread')) return reply.fail('ECONNRESET');
      clock.later(dice.between(0, 5), () => {
        if (!reply.isOver || dice.chance(0.5)) this.#serverAt(request.url).receive(request, reply);
      });
    });
    return { abort: () => reply.abort() };
  }
}

/** A call whose answer goes over the network, which can break before or after the effect. */
export function executeOver(
  world: World,
  call: ServedCall,
  reply: Reply,
  finished: (answer: Answer) => void,
): void {
  const { faults } = world;
  if (faults.occurs('http-reset-before-effect')) return reply.fail('ECONNRESET');
  if (faults.occurs('hang-call')) return;
  // A closed stream is the cancellation; a server may notice or not.
  const isRunning = () => !reply.isOver || faults.occurs('late-answer');
  execute(world, call, isRunning, (answer) => {
    if (faults.occurs('http-reset-after-effect')) return reply.fail('ECONNRESET');
    if (!faults.occurs('hang-after-effect')) finished(answer);
  });
}

/** What goes back for one request, in order and with latency; what is there together comes together. */
export class Reply {
  readonly #world: World;
  readonly #listener: HttpListener;
  readonly #over: () => void;
  /** Is all of it in one packet, as a small answer is? */
  readonly #isWhole: boolean;
  #coming: { readonly at: number; readonly tell: () => void }[] = [];
  #isOver = false;
  #at = 0;

  constructor(world: World, listener: HttpListener, over: () => void) {
    this.#world = world;
    this.#listener = listener;
    this.#over = over;
    this.#isWhole = world.dice.chance(0.6);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  head(status: number, headers: Readonly<Record<string, string>> = {}): void {
    const received = new Map(Object.entries(headers));
    this.#next(5, () => this.#listener.response(status, received));
  }

  /** The body or a part of it, in pieces cut anywhere; a drip takes its time for each. */
  data(text: string): void {
    const { dice, faults } = this.#world;
    const bytes = Buffer.from(text);
    const drips = faults.occurs('slow-drip');
    const pieces = drips || faults.occurs('torn-chunks') ? dice.between(2, 6) : 1;
    const pieceBytes = Math.ceil(bytes.length / pieces);
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      const piece = bytes.subarray(start, start + pieceBytes);
      this.#next(drips ? 2_000 : this.#isWhole ? 0 : 3, () => this.#listener.data(piece));
    }
  }

  end(): void {
    this.#next(this.#isWhole ? 0 : 2, () => this.#finish(() => this.#listener.ended()));
  }

  fail(code: string): void {
    const error = Object.assign(new Error(code), { code });
    this.#next(2, () => this.#finish(() => this.#listener.failed(error)));
  }

  abort(): void {
    this.#finish(() => {});
  }

  #finish(tell: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#over();
    tell();
  }

  #next(longestMs: number, tell: () => void): void {
    const { clock, dice } = this.#world;
    const after = longestMs === 0 ? 0 : dice.between(0, longestMs);
    this.#at = Math.max(this.#at, clock.now()) + after;
    this.#coming.push({ at: this.#at, tell });
    if (this.#coming.length === 1) clock.later(after, this.#arrive);
  }

  readonly #arrive = (): void => {
    const { clock } = this.#world;
    const now = clock.now();
    for (;;) {
      const [next] = this.#coming;
      if (next === undefined || this.#isOver) return;
      if (next.at > now) return void clock.later(next.at - now, this.#arrive);
      this.#coming.shift();
      next.tell();
    }
  };
}
