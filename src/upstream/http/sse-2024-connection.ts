// A connection over the HTTP+SSE transport of 2024-11-05: one long GET carries all messages of the
// server, and its first event gives the address for our messages. When that stream ends, the
// connection is lost with everything open on it.

import { ignored } from '../../kernel/contain.ts';
import type { Fault } from '../../kernel/fault.ts';
import { type CloseReason, letsCallsEnd } from '../../supervise/life-machine.ts';
import { joined, type TextOrFrame } from '../../wire/frames.ts';
import { scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { ProbeOutcome } from '../classify.ts';
import type { Greeting } from '../connection.ts';
import type { Exchange } from '../exchange.ts';
import { ServerConnection } from '../server-connection.ts';
import { unlessAborted } from '../unless-aborted.ts';
import type { HttpInFlight } from './http-client.ts';
import type { HttpParts } from './http-parts.ts';
import { brokenFault, pageFault, statusFault } from './http-status.ts';
import { oneWayMs } from './one-way.ts';
import { EventStreamReader, type StreamEvent } from './sse-events.ts';

export class SseConnection extends ServerConnection<HttpParts> {
  protected readonly isOrdered = false;
  /** One for each message, until its response ends. */
  readonly #posts = new Map<Exchange | symbol, HttpInFlight>();
  #stream: HttpInFlight | undefined;
  #endpoint: URL | undefined;
  #connected: { resolve: () => void; reject: (fault: Fault) => void } | undefined;

  // --- starting ----------------------------------------------------------------------------

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.opened(await unlessAborted(signal, this.#meet()));
  }

  async #meet(): Promise<Greeting> {
    await this.#connect();
    // This transport has no modern era, so nothing is learnt about the server's eras here.
    const known = { modern: false };
    const memory = { learn: () => {}, notInitialized: () => {} };
    const talk = this.talk();
    talk.request = (method, params) => this.send(method, params, '', 'legacy');
    return this.negotiated({ first: 'legacy', known, memory }, talk);
  }

  protected override outcomeOf(fault: Fault): ProbeOutcome {
    return { kind: 'unreachable', fault };
  }

  #connect(): Promise<void> {
    const { url, http, frameBytes } = this.parts;
    const reader = new EventStreamReader(frameBytes, {
      event: (event) => this.#event(event),
      oversized: () => this.lose(this.fault('sent an event beyond limits.frameBytes')),
    });
    const headers = { ...this.parts.headers, accept: 'text/event-stream' };
    return new Promise((resolve, reject) => {
      this.#connected = { resolve, reject };
      this.#stream = http.send(
        { url, method: 'GET', headers, body: null },
        {
          sent: () => {},
          response: (status, received) => {
            const problem =
              status === 200
                ? pageFault(this.parts, this.generation, received)
                : statusFault(this.parts, status, received);
            if (problem) this.lose(problem);
          },
          data: (chunk) => reader.push(chunk),
          ended: () => this.lose(this.fault('ended its stream')),
          failed: (error) => {
            const isUnreached = this.greeted === undefined;
            this.lose(brokenFault(this.parts, this.generation, error, true, isUnreached));
          },
        },
      );
    });
  }

  #event(event: StreamEvent): void {
    if (this.isLost) return;
    if (event.event === 'endpoint') return this.#endpointNamed(event.data.toString('utf8'));
    try {
      this.conversation.receive(scanMessage(event.data));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.count('invalid-message');
    }
  }

  #endpointNamed(address: string): void {
    const { url } = this.parts;
    const endpoint = URL.canParse(address, url.href) ? new URL(address, url) : undefined;
    // Credentials must not be sent to another origin because a server says so.
    if (!endpoint || endpoint.origin !== url.origin) {
      return this.lose(this.fault('named an endpoint on another origin'));
    }
    this.#endpoint = endpoint;
    this.#connected?.resolve();
  }

  // --- talking -----------------------------------------------------------------------------

  override get era(): 'legacy' {
    return 'legacy';
  }

  protected override get canSend(): boolean {
    return !this.isLost && this.#endpoint !== undefined;
  }

  protected override transmit(exchange: Exchange, frame: TextOrFrame): void {
    this.#post(joined(frame), exchange).catch(ignored);
  }

  protected override say(frame: TextOrFrame | Buffer): Promise<void> {
    return this.#post(Buffer.isBuffer(frame) ? frame : joined(frame), undefined);
  }

  #post(body: string | Buffer, exchange: Exchange | undefined): Promise<void> {
    const { http, clock } = this.parts;
    const url = this.#endpoint;
    if (this.isLost || !url) return Promise.resolve();
    const version = this.greeted?.protocolVersion;
    const headers = {
      ...this.parts.headers,
      'content-type': 'application/json',
      ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
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
            else if (status >= 300 && exchange) {
              this.#refused(exchange, statusFault(this.parts, status, received));
            }
          },
          data: () => {},
          ended: finish,
          failed: (error) => {
            finish();
            if (exchange) this.#broken(exchange, error);
          },
        },
      );
      const abort = () => {
        inFlight.abort();
        finish();
      };
      this.#posts.set(key, { abort });
      // The answer comes on the stream; once it is there, or none is expected, this POST is not
      // needed.
      const limit = () => {
        if (this.#posts.has(key)) deadline = clock.after(oneWayMs, abort, true);
      };
      if (exchange) exchange.answer.then(limit, limit).catch(ignored);
      else limit();
    });
  }

  #refused(exchange: Exchange, fault: Fault): void {
    if (fault.dispatched === 'no' && exchange.dispatched === 'maybe') exchange.dispatched = 'no';
    this.conversation.fail(exchange.id, fault);
  }

  #broken(exchange: Exchange, error: Error): void {
    const fault = brokenFault(this.parts, this.generation, error, exchange.dispatched === 'no');
    this.conversation.fail(exchange.id, fault);
  }

  protected override abandoned(exchange: Exchange): void {
    // Its caller is told that it was never sent: so it must not be sent later.
    if (exchange.dispatched === 'no') this.#posts.get(exchange)?.abort();
    else this.tellCancelled(exchange);
  }

  // --- ending ------------------------------------------------------------------------------

  /**
   * The server no longer knows the session: this message was not accepted, and none will be on this
   * stream.
   */
  #sessionLost(exchange: Exchange | undefined): void {
    if (exchange) exchange.dispatched = 'no';
    this.lose(this.fault('has ended the session'));
  }

  protected override endWith(cause: Fault): void {
    this.#stream?.abort();
    for (const post of this.#posts.values()) post.abort();
    this.#posts.clear();
    this.#connected?.reject(cause);
    this.conversation.failAll(cause);
  }

  async close(reason: CloseReason): Promise<number> {
    if (letsCallsEnd(reason) && !this.isLost) await this.conversation.drained();
    this.isLost = true;
    this.endWith(this.fault('was stopped'));
    this.listener.ended(this);
    return 0;
  }
}
