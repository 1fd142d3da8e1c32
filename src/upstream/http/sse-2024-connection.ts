// A connection over the HTTP+SSE transport of 2024-11-05: one long GET carries everything the
// server says, and its first event names the address that takes our messages. When that stream
// ends, the connection is lost with everything open on it.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { shortageOf } from '../../kernel/shortage.ts';
import type { StopReason } from '../../supervise/life-machine.ts';
import type { Params } from '../../wire/frames.ts';
import { joined, notificationToServer, requestToServer, withProgress } from '../../wire/frames.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { Connection, ConnectionListener, Greeting, RequestOptions } from '../connection.ts';
import { Conversation } from '../conversation.ts';
import type { Exchange } from '../exchange.ts';
import { answersProbe } from '../liveness.ts';
import { negotiate } from '../negotiate.ts';
import { pingAnswer } from '../server-requests.ts';
import { unlessAborted } from '../unless-aborted.ts';
import type { HttpInFlight } from './http-client.ts';
import type { HttpParts } from './http-connection.ts';
import { pageFault, shortageFault, statusFault, unreachableFault } from './http-status.ts';
import { oneWayMs } from './one-way.ts';
import { EventStreamReader, type StreamEvent } from './sse-events.ts';

export async function connectSse(
  parts: HttpParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const connection = new SseConnection(parts, generation, listener);
  try {
    await connection.start(signal);
    return connection;
  } catch (error) {
    await connection.close('hung');
    throw error;
  }
}

class SseConnection implements Connection {
  readonly generation: number;
  readonly era = 'legacy';
  readonly pid = null;
  readonly child = undefined;
  readonly stderr: readonly string[] = [];
  readonly #parts: HttpParts;
  readonly #clock: Clock;
  readonly #listener: ConnectionListener;
  readonly #conversation: Conversation;
  /** One for each message, until its response ends. */
  readonly #posts = new Map<Exchange | symbol, HttpInFlight>();
  #stream: HttpInFlight | undefined;
  #endpoint: URL | undefined;
  #opened: { resolve: () => void; reject: (fault: Fault) => void } | undefined;
  #greeting: Greeting | undefined;
  isLost = false;

  constructor(parts: HttpParts, generation: number, listener: ConnectionListener) {
    this.#parts = parts;
    this.#clock = parts.clock;
    this.generation = generation;
    this.#listener = listener;
    this.#conversation = new Conversation(
      {
        notification: (message) => this.#listener.notification(message, undefined, this),
        request: (message) => this.#asked(message),
        noise: (noise) => this.#listener.noise(noise),
        abandoned: (exchange) => this.#abandoned(exchange),
      },
      parts.clock,
    );
  }

  // --- starting ----------------------------------------------------------------------------

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#greeting = await unlessAborted(signal, this.#meet());
  }

  async #meet(): Promise<Greeting> {
    await this.#open();
    const talk = {
      request: (method: string, params: Params) => this.request(method, params),
      notify: (method: string, params: Params) =>
        this.#post(joined(notificationToServer(method, params)), undefined),
      outcomeOf: (fault: Fault) => ({ kind: 'unreachable', fault }) as const,
      isOrdered: false,
    };
    const { identity, capabilities } = this.#parts;
    // This transport has no modern era; which one the server speaks elsewhere is not learnt here.
    const known = { modern: false };
    const memory = { learn: () => {}, notInitialized: () => {} };
    const opening = { first: 'legacy', known, memory, identity } as const;
    return negotiate(talk, { ...opening, clock: this.#clock, capabilities });
  }

  #open(): Promise<void> {
    const { url, http, frameBytes } = this.#parts;
    const reader = new EventStreamReader(frameBytes, {
      event: (event) => this.#event(event),
      oversized: () => this.#end(this.#fault('sent an event beyond limits.frameBytes')),
    });
    const headers = { ...this.#parts.headers, accept: 'text/event-stream' };
    return new Promise((resolve, reject) => {
      this.#opened = { resolve, reject };
      this.#stream = http.send(
        { url, method: 'GET', headers, body: null },
        {
          sent: () => {},
          response: (status, received) => {
            const problem =
              status === 200
                ? pageFault(this.#parts, this.generation, received)
                : statusFault(this.#parts, status, received);
            if (problem) this.#end(problem);
          },
          data: (chunk) => reader.push(chunk),
          ended: () => this.#end(this.#fault('ended its stream')),
          failed: (error) => this.#end(this.#unreachable(error)),
        },
      );
    });
  }

  #event(event: StreamEvent): void {
    if (this.isLost) return;
    if (event.event === 'endpoint') return this.#endpointNamed(event.data.toString('utf8'));
    try {
      this.#conversation.receive(scanMessage(event.data));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#listener.noise('invalid-message');
    }
  }

  #endpointNamed(address: string): void {
    const { url } = this.#parts;
    const endpoint = URL.canParse(address, url.href) ? new URL(address, url) : undefined;
    // Credentials must not follow a server's word to another origin.
    if (!endpoint || endpoint.origin !== url.origin) {
      return this.#end(this.#fault('named an endpoint on another origin'));
    }
    this.#endpoint = endpoint;
    this.#opened?.resolve();
  }

  // --- what it is --------------------------------------------------------------------------

  get greeting(): Greeting {
    if (!this.#greeting) throw new Error('the connection is not open yet');
    return this.#greeting;
  }

  get protocolVersion(): string {
    return this.greeting.protocolVersion;
  }

  // --- talking -----------------------------------------------------------------------------

  request(method: string, params: Params, options?: RequestOptions): Exchange {
    const exchange = this.#conversation.begin(options);
    const meta = options?.progress ? withProgress('', exchange.id) : '';
    this.#post(joined(requestToServer(exchange.id, method, params, meta)), exchange).catch(ignored);
    return exchange;
  }

  notify(method: string, params: Params): void {
    this.#post(joined(notificationToServer(method, params)), undefined).catch(ignored);
  }

  respond(answer: string | Buffer): void {
    this.#post(answer, undefined).catch(ignored);
  }

  #asked(message: Message): void {
    if (message.method === 'ping') this.respond(pingAnswer(message));
    else this.#listener.asked(message, undefined, this);
  }

  #post(body: string | Buffer, exchange: Exchange | undefined): Promise<void> {
    const { http } = this.#parts;
    const url = this.#endpoint;
    if (this.isLost || !url) {
      if (exchange) this.#conversation.fail(exchange.id, this.#fault('is gone'));
      return Promise.resolve();
    }
    const version = this.#greeting?.protocolVersion;
    const headers = {
      ...this.#parts.headers,
      'content-type': 'application/json',
      ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
    };
    const failExchange = (fault: Fault) => {
      if (!exchange) return;
      if (fault.dispatched === 'no' && exchange.dispatched === 'maybe') exchange.dispatched = 'no';
      this.#conversation.fail(exchange.id, fault);
    };
    const key = exchange ?? Symbol('message');
    return new Promise((resolve) => {
      let deadline: Disposable | undefined;
      const finish = () => {
        deadline?.[Symbol.dispose]();
        this.#posts.delete(key);
        resolve();
      };
      const inFlight = http.send(
        { url, method: 'POST', headers, body },
        {
          sent: () => {
            if (exchange) exchange.dispatched = 'maybe';
          },
          response: (status, received) => {
            if (status === 404) this.#sessionLost(exchange);
            else if (status >= 300) {
              failExchange(statusFault(this.#parts, status, received));
            }
          },
          data: () => {},
          ended: finish,
          failed: (error) => {
            finish();
            if (exchange) this.#conversation.fail(exchange.id, this.#unreachable(error, exchange));
          },
        },
      );
      const abort = () => {
        inFlight.abort();
        finish();
      };
      this.#posts.set(key, { abort });
      // The answer comes on the stream; once it is there, or none is expected, nothing needs this POST.
      const limit = () => {
        if (this.#posts.has(key)) deadline = this.#clock.after(oneWayMs, abort, true);
      };
      if (exchange) exchange.answer.then(limit, limit).catch(ignored);
      else limit();
    });
  }

  probe(): Promise<boolean> {
    return answersProbe(this);
  }

  #abandoned(exchange: Exchange): void {
    if (exchange.dispatched === 'no') {
      // Its caller is told that it never left us: so it must not leave us later.
      this.#posts.get(exchange)?.abort();
      return;
    }
    this.notify('notifications/cancelled', { members: `"requestId":${exchange.id}` });
  }

  // --- ending ------------------------------------------------------------------------------

  /** The server has forgotten us: this message was not taken, and none will be on this stream. */
  #sessionLost(exchange: Exchange | undefined): void {
    if (exchange) exchange.dispatched = 'no';
    this.#end(this.#fault('has ended the session'));
  }

  #end(cause: Fault): void {
    if (this.isLost) return;
    this.isLost = true;
    this.#stopAll();
    this.#opened?.reject(cause);
    this.#conversation.failAll(cause);
    this.#listener.ended(this);
    if (this.#greeting) this.#listener.lost(cause);
  }

  async close(_reason: StopReason | 'lost'): Promise<number> {
    this.isLost = true;
    this.#stopAll();
    this.#conversation.failAll(this.#fault('was stopped'));
    this.#listener.ended(this);
    return 0;
  }

  #stopAll(): void {
    this.#stream?.abort();
    for (const post of this.#posts.values()) post.abort();
    this.#posts.clear();
  }

  #unreachable(error: Error, exchange?: Exchange): Fault {
    const isUnsent = exchange === undefined || exchange.dispatched === 'no';
    const shortage = isUnsent ? shortageOf(error) : undefined;
    if (shortage !== undefined) {
      return shortageFault(this.#parts.server, this.generation, shortage, error);
    }
    const isOpening = exchange === undefined && this.#greeting === undefined;
    if (isOpening || (exchange && isUnsent))
      return unreachableFault(this.#parts, this.generation, error);
    const code = (error as NodeJS.ErrnoException).code ?? error.name;
    return this.#fault(`broke off the connection (${code})`);
  }

  #fault(what: string): Fault {
    const { server } = this.#parts;
    return new Fault('unavailable', `${server} ${what}`, { server, generation: this.generation });
  }
}
