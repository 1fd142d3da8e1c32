// A connection to a server over Streamable HTTP, in either era. Modern: every POST is independent
// and closing its stream cancels it. Legacy: a session with an id, a separate stream for
// unsolicited messages, and an explicit end. One broken exchange retires the connection for new
// calls, but its running calls continue: they have sockets of their own. In a rollout the session
// goes to the next serving process, and the running calls stay.

import type { Fault } from '../../kernel/fault.ts';
import { type CloseReason, letsCallsEnd } from '../../supervise/life-machine.ts';
import type { Era } from '../../wire/eras.ts';
import { joined, type TextOrFrame } from '../../wire/frames.ts';
import type { Message } from '../../wire/scan.ts';
import type { ProbeOutcome } from '../classify.ts';
import type { ConnectionListener, RequestOptions } from '../connection.ts';
import type { Exchange } from '../exchange.ts';
import type { FormerCalls, HandOver, HttpState, LinesOfFormer } from '../handed-connection.ts';
import type { EraKnowledge } from '../negotiate.ts';
import { restOfHttp } from '../rest-of-connection.ts';
import { ServerConnection } from '../server-connection.ts';
import { unlessAborted } from '../unless-aborted.ts';
import { HttpAnswer, type StreamPlace } from './http-answer.ts';
import type { HttpInFlight } from './http-client.ts';
import type { HttpParts } from './http-parts.ts';
import { brokenFault, pageFault } from './http-status.ts';
import { sendOneWay } from './one-way.ts';
import { Resumption } from './resumption.ts';
import { ServerSession } from './server-session.ts';
import { UnaskedStream } from './standalone-stream.ts';

/** Thrown when the endpoint turns out to use the HTTP+SSE transport of 2024. */
export class NotStreamable extends Error {
  override readonly name = 'NotStreamable';
}

export class HttpConnection extends ServerConnection<HttpParts> {
  protected readonly isOrdered = false;
  /** One for each exchange, until its response ends. */
  readonly #inFlight = new Map<Exchange | symbol, HttpInFlight>();
  readonly #session: ServerSession;
  #startStatus = 0;
  #isClosed = false;
  #ending: Promise<void> | undefined;
  /** Legacy: the stream for unsolicited messages of the server. */
  #stream: UnaskedStream | undefined;
  /** Set when another serving process has it. */
  #lines: LinesOfFormer | undefined;

  constructor(parts: HttpParts, generation: number, listener: ConnectionListener) {
    super(parts, generation, listener);
    this.#session = new ServerSession(parts, {
      isOpen: () => this.greeted !== undefined,
      probe: () => this.probe(),
      refused: () => this.#sessionRefused(),
    });
  }

  // --- starting ----------------------------------------------------------------------------

  async start(signal: AbortSignal, known: EraKnowledge): Promise<void> {
    const { first, eras: memory } = this.parts;
    signal.throwIfAborted();
    try {
      this.opened(await unlessAborted(signal, this.negotiated({ first, known, memory })));
    } catch (error) {
      // The 2024 transport has no POST at its address.
      const isElsewhere = this.#startStatus === 404 || this.#startStatus === 405;
      throw isElsewhere && !signal.aborted ? new NotStreamable() : error;
    }
    if (this.era === 'legacy') this.#openStream();
  }

  #openStream(former?: Pick<HttpState, 'lastEventId'>): void {
    const headers = () => this.#headers('legacy');
    const listener = {
      heard: (message: Message) => this.#unasked(message),
      missed: () => this.listener.missed(this),
    };
    this.#stream = new UnaskedStream(this.parts, headers, listener, former);
  }

  protected override outcomeOf(fault: Fault): ProbeOutcome {
    return this.#startStatus === 0
      ? { kind: 'unreachable', fault }
      : { kind: 'http-status', status: this.#startStatus, fault };
  }

  // --- talking -----------------------------------------------------------------------------

  protected override get canSend(): boolean {
    return !this.#isClosed && !this.isLost;
  }

  protected override transmit(
    exchange: Exchange,
    frame: TextOrFrame,
    method: string,
    era: Era,
    options: RequestOptions | undefined,
  ): void {
    this.#lines?.begun?.();
    const headers = {
      ...this.#headers(era),
      ...(era === 'modern' ? { 'mcp-method': method } : {}),
      ...(era === 'modern' ? options?.headers : {}),
    };
    let page: Fault | undefined;
    const answer = new HttpAnswer(
      this.parts,
      {
        sent: () => {
          exchange.dispatched = 'maybe';
        },
        headers: (status, received) => {
          if (session !== undefined && status === 404) this.#sessionLost(exchange);
          else {
            if (!this.greeted) this.#startStatus = status;
            this.#session.answered(method, received);
          }
          if (session !== undefined && status === 400) this.#session.doubt(method, exchange);
          if (!this.greeted && status === 200)
            page = pageFault(this.parts, this.generation, received);
        },
        message: (message) => this.#message(message, exchange),
        over: (fault) => {
          const place = fault ? undefined : resumable();
          if (place) this.#resume(exchange, place);
          else this.#over(exchange, fault ?? page);
        },
        broken: (error) => {
          // An error without a code is an internal one: reconnecting would not help.
          const place = 'code' in error ? resumable() : undefined;
          if (place) this.#resume(exchange, place);
          else this.#broken(exchange, error);
        },
      },
      method === 'subscriptions/listen',
    );
    const resumable = () => (era === 'legacy' && !exchange.isSettled ? answer.place : undefined);
    const { url, http } = this.parts;
    // If several calls meet the end of one session, each is reported, not only the first.
    const session = this.#session.id;
    const request = { url, method: 'POST', headers, body: joined(frame) } as const;
    this.#inFlight.set(exchange, http.send(request, answer));
  }

  /** Resolves when the server has accepted it, or never will. */
  protected override async say(frame: TextOrFrame | Buffer): Promise<void> {
    const { url, http, clock } = this.parts;
    const key = Symbol('message');
    const body = Buffer.isBuffer(frame) ? frame : joined(frame);
    const headers = this.#headers('legacy');
    const { inFlight, over } = sendOneWay(http, { url, method: 'POST', headers, body }, clock);
    this.#inFlight.set(key, inFlight);
    await over;
    this.#inFlight.delete(key);
  }

  #headers(era: Era): Record<string, string> {
    return this.#session.headers(era, this.greeted?.protocolVersion);
  }

  protected override abandoned(exchange: Exchange): void {
    this.#stopExchange(exchange);
    if (this.greeted?.era === 'legacy') this.tellCancelled(exchange);
  }

  #stopExchange(exchange: Exchange): void {
    this.#inFlight.get(exchange)?.abort();
    this.#inFlight.delete(exchange);
  }

  // --- listening ---------------------------------------------------------------------------

  #message(message: Message, exchange: Exchange): void {
    const isAnswer = message.kind === 'result' || message.kind === 'error';
    // An answer counts only on the stream of its own request.
    if (isAnswer && message.id !== exchange.id) this.count('unknown-id');
    else this.conversation.receive(message, exchange);
    if (exchange.isSettled) this.#stopExchange(exchange);
  }

  #unasked(message: Message): void {
    const isAnswer = message.kind === 'result' || message.kind === 'error';
    if (isAnswer) this.count('unknown-id');
    else this.received(message);
  }

  #over(exchange: Exchange, fault: Fault | undefined): void {
    this.#stopExchange(exchange);
    if (exchange.isSettled) return;
    if (fault) {
      if (fault.dispatched !== 'maybe') exchange.dispatched = fault.dispatched;
      this.conversation.fail(exchange.id, fault);
    } else {
      this.conversation.fail(exchange.id, this.fault('ended its response stream without a result'));
    }
  }

  /** A legacy response stream that ended or broke is resumed; the call is not sent again. */
  #resume(exchange: Exchange, place: StreamPlace): void {
    this.#stopExchange(exchange);
    const resumption = new Resumption(this.parts, place, {
      headers: () => this.#headers('legacy'),
      message: (message) => this.#message(message, exchange),
      failed: (fault, isLost) => {
        this.#inFlight.delete(exchange);
        this.#startStatus = 0;
        const { generation } = this;
        if (isLost) this.lose(fault.with({ generation }));
        this.conversation.fail(exchange.id, fault.with({ generation }));
      },
    });
    this.#inFlight.set(exchange, resumption);
  }

  // --- another serving process -------------------------------------------------------------

  /** Goes on with the session of the serving process before. */
  adopt(state: HttpState, former: FormerCalls | undefined): void {
    this.continues(state, former);
    this.#session.id = state.sessionId;
    this.opened(state.greeting);
    if (this.era === 'legacy') this.#openStream(state);
  }

  handOver(): Promise<HandOver | undefined> {
    return Promise.resolve(this.#handOver());
  }

  #handOver(): HandOver | undefined {
    if (!this.greeted || this.isLost || this.isHandedOver) return undefined;
    this.isHandedOver = true;
    const { id: sessionId } = this.#session;
    const lastEventId = this.#stream?.lastId;
    this.#stream?.[Symbol.dispose]();
    this.conversation.endBackground(this.fault('is called by another process now', 'cancelled'));
    const state: HttpState = {
      transport: 'http',
      ...this.sharedState,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(lastEventId === undefined ? {} : { lastEventId }),
    };
    const rest = restOfHttp(this.conversation, () => this.former, {
      received: (message) => this.received(message),
      unreadable: () => this.count('not-json'),
      attach: (lines) => {
        this.#lines = lines;
      },
    });
    return { handed: { state, unread: Buffer.alloc(0) }, rest };
  }

  // --- ending ------------------------------------------------------------------------------

  #sessionRefused(): void {
    this.#session.id = undefined;
    this.lose(this.fault('no longer accepts its session'));
  }

  /** The server no longer knows the session: nothing was run, and a new session is needed. */
  #sessionLost(exchange: Exchange): void {
    this.#stopExchange(exchange);
    exchange.dispatched = 'no';
    this.#session.id = undefined;
    const fault = this.fault('has ended the session');
    this.lose(fault);
    this.conversation.fail(exchange.id, fault);
  }

  #broken(exchange: Exchange, error: Error): void {
    this.#inFlight.delete(exchange);
    // A status from before the break says nothing about the server.
    this.#startStatus = 0;
    const fault = brokenFault(this.parts, this.generation, error, exchange.dispatched === 'no');
    // A shortage of the host says nothing about the server.
    if (fault.code !== 'overloaded') this.lose(fault);
    this.conversation.fail(exchange.id, fault);
  }

  /** The running calls of a lost connection have sockets of their own. */
  protected override endWith(): void {}

  async close(reason: CloseReason): Promise<number> {
    this.isLost = true;
    // The running calls of a lost connection continue unless we close it.
    if (reason === 'lost') {
      await Promise.all([this.conversation.whenEmpty(), this.former?.whenOver()]);
    }
    if (letsCallsEnd(reason)) await this.drained();
    this.#ending ??= this.#end();
    await this.#ending;
    return 0;
  }

  async #end(): Promise<void> {
    this.#isClosed = true;
    this.#stream?.[Symbol.dispose]();
    this.conversation.failAll(this.fault('was stopped'));
    this.listener.ended(this);
    for (const inFlight of this.#inFlight.values()) inFlight.abort();
    this.#inFlight.clear();
    if (this.#session.id !== undefined && !this.isHandedOver) {
      await this.#session.sayGoodbye(this.greeted?.protocolVersion);
    }
  }
}
