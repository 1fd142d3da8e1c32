// A connection to a server over Streamable HTTP, in either era. Modern: every POST stands alone and
// closing its stream is the cancellation. Legacy: a session with an id, a stream of its own for
// what the server says unasked, and an end that is announced. One broken exchange retires the
// connection for new calls, but the calls it carries go on: they have sockets of their own.

import { type Clock, within } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { shortageOf } from '../../kernel/shortage.ts';
import type { StopReason } from '../../supervise/life-machine.ts';
import type { Era } from '../../wire/eras.ts';
import type { Params } from '../../wire/frames.ts';
import { joined, notificationToServer, requestToServer, withProgress } from '../../wire/frames.ts';
import type { Message } from '../../wire/scan.ts';
import type { ProbeOutcome } from '../classify.ts';
import type { Connection, ConnectionListener, Greeting, RequestOptions } from '../connection.ts';
import { Conversation } from '../conversation.ts';
import type { Exchange } from '../exchange.ts';
import { answersProbe, isFromSession } from '../liveness.ts';
import {
  type EraKnowledge,
  type EraMemory,
  envelopeHead,
  fullEnvelope,
  type Identity,
  modernEnvelope,
  negotiate,
} from '../negotiate.ts';
import { pingAnswer } from '../server-requests.ts';
import { unlessAborted } from '../unless-aborted.ts';
import { HttpAnswer, type StreamPlace } from './http-answer.ts';
import type { HttpClient, HttpHeaders, HttpInFlight } from './http-client.ts';
import { pageFault, shortageFault, unreachableFault } from './http-status.ts';
import { sendOneWay } from './one-way.ts';
import { Resumption } from './resumption.ts';
import { UnaskedStream } from './standalone-stream.ts';

export interface HttpParts {
  readonly server: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly frameBytes: number;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly identity: Identity;
  /** What we say a legacy server may ask its client, as JSON. */
  readonly capabilities: string;
  /** The era of the client that it is made for. */
  readonly first: Era;
  readonly eras: EraMemory;
}

/** Calls still running when a server is replaced get this long to finish. */
const drainMs = 5_000;
const goodbyeMs = 1_000;

/** Thrown when the endpoint turns out to speak the HTTP+SSE transport of 2024. */
export class NotStreamable extends Error {
  override readonly name = 'NotStreamable';
}

export async function connectHttp(
  parts: HttpParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const known = await parts.eras.known();
  const connection = new HttpConnection(parts, generation, listener);
  try {
    await connection.start(signal, known);
    await parts.eras.kept();
    return connection;
  } catch (error) {
    await connection.close('hung');
    throw error;
  }
}

class HttpConnection implements Connection {
  readonly generation: number;
  readonly pid = null;
  readonly child = undefined;
  readonly stderr: readonly string[] = [];
  readonly #parts: HttpParts;
  readonly #listener: ConnectionListener;
  readonly #conversation: Conversation;
  /** One for each exchange, until its response ends. */
  readonly #inFlight = new Map<Exchange | symbol, HttpInFlight>();
  #greeting: Greeting | undefined;
  /** Modern: the members of `_meta` up to the client's capabilities. */
  #envelopeHead = '';
  #session: string | undefined;
  /** Is the server being asked whether it still knows the session? */
  #isDoubted = false;
  #startStatus = 0;
  #isClosed = false;
  #ending: Promise<void> | undefined;
  /** Legacy: where the server says what nobody asked. */
  #stream: UnaskedStream | undefined;
  isLost = false;

  constructor(parts: HttpParts, generation: number, listener: ConnectionListener) {
    this.#parts = parts;
    this.generation = generation;
    this.#listener = listener;
    this.#conversation = new Conversation(
      {
        notification: (message, about) => this.#listener.notification(message, about, this),
        request: (message, about) => this.#asked(message, about),
        noise: (noise) => this.#listener.noise(noise),
        abandoned: (exchange) => this.#abandoned(exchange),
      },
      parts.clock,
    );
  }

  // --- starting ----------------------------------------------------------------------------

  async start(signal: AbortSignal, known: EraKnowledge): Promise<void> {
    const { identity, clock, capabilities, first, eras } = this.#parts;
    signal.throwIfAborted();
    const talk = {
      isOrdered: false,
      request: (method: string, params: Params, era: Era, options?: RequestOptions) => {
        const envelope = era === 'modern' ? modernEnvelope(identity) : '';
        return this.#post(method, params, envelope, era, options);
      },
      notify: (method: string, params: Params) =>
        this.#postMessage(joined(notificationToServer(method, params))),
      outcomeOf: (fault: Fault) => this.#outcomeOf(fault),
    };
    try {
      const opening = { first, known, memory: eras, identity, clock, capabilities };
      this.#greeting = await unlessAborted(signal, negotiate(talk, opening));
    } catch (error) {
      // The 2024 transport has no POST at its address.
      const isElsewhere = this.#startStatus === 404 || this.#startStatus === 405;
      throw isElsewhere && !signal.aborted ? new NotStreamable() : error;
    }
    if (this.#greeting.era === 'modern') this.#envelopeHead = envelopeHead(identity);
    else {
      const headers = () => this.#headers('legacy');
      this.#stream = new UnaskedStream(this.#parts, headers, (message) => this.#unasked(message));
    }
  }

  #outcomeOf(fault: Fault): ProbeOutcome {
    return this.#startStatus === 0
      ? { kind: 'unreachable', fault }
      : { kind: 'http-status', status: this.#startStatus, fault };
  }

  // --- what it is --------------------------------------------------------------------------

  get greeting(): Greeting {
    if (!this.#greeting) throw new Error('the connection is not open yet');
    return this.#greeting;
  }

  get era(): Era {
    return this.greeting.era;
  }

  get protocolVersion(): string {
    return this.greeting.protocolVersion;
  }

  // --- talking -----------------------------------------------------------------------------

  request(method: string, params: Params, options?: RequestOptions): Exchange {
    const envelope = this.#envelopeHead === '' ? '' : fullEnvelope(this.#envelopeHead, options);
    return this.#post(method, params, envelope, this.era, options);
  }

  #post(
    method: string,
    params: Params,
    envelope: string,
    era: Era,
    options?: RequestOptions,
  ): Exchange {
    const exchange = this.#conversation.begin(options);
    if (this.#isClosed || this.isLost) {
      this.#conversation.fail(exchange.id, this.#fault('is gone'));
      return exchange;
    }
    const meta = options?.progress ? withProgress(envelope, exchange.id) : envelope;
    const body = joined(requestToServer(exchange.id, method, params, meta));
    const headers = {
      ...this.#headers(era),
      ...(era === 'modern' ? { 'mcp-method': method } : {}),
      ...(era === 'modern' ? options?.headers : {}),
    };
    let page: Fault | undefined;
    const answer = new HttpAnswer(
      this.#parts,
      {
        sent: () => {
          exchange.dispatched = 'maybe';
        },
        headers: (status, received) => {
          if (session !== undefined && status === 404) this.#sessionLost(exchange);
          else this.#answerHeaders(method, status, received);
          if (session !== undefined && status === 400) this.#doubtSession(method, exchange);
          if (!this.#greeting && status === 200)
            page = pageFault(this.#parts, this.generation, received);
        },
        message: (message) => this.#message(message, exchange),
        over: (fault) => {
          const place = fault ? undefined : resumable();
          if (place) this.#resume(exchange, place);
          else this.#over(exchange, fault ?? page);
        },
        broken: (error) => {
          // An error without a code is one of our own: coming back would not mend it.
          const place = 'code' in error ? resumable() : undefined;
          if (place) this.#resume(exchange, place);
          else this.#broken(exchange, error);
        },
      },
      method === 'subscriptions/listen',
    );
    const resumable = () => (era === 'legacy' && !exchange.isSettled ? answer.place : undefined);
    const { url, http } = this.#parts;
    // Of several calls that meet the end of one session each is told so, not only the first.
    const session = this.#session;
    this.#inFlight.set(exchange, http.send({ url, method: 'POST', headers, body }, answer));
    return exchange;
  }

  notify(method: string, params: Params): void {
    this.#postMessage(joined(notificationToServer(method, params))).catch(ignored);
  }

  /** A message that expects no answer. Resolves when the server has taken it, or never will. */
  async #postMessage(body: string | Buffer): Promise<void> {
    const { url, http, clock } = this.#parts;
    const key = Symbol('message');
    const headers = this.#headers('legacy');
    const { inFlight, over } = sendOneWay(http, { url, method: 'POST', headers, body }, clock);
    this.#inFlight.set(key, inFlight);
    await over;
    this.#inFlight.delete(key);
  }

  #headers(era: Era): Record<string, string> {
    const version = this.#greeting?.protocolVersion;
    return {
      ...this.#parts.headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(era === 'modern' ? { 'mcp-protocol-version': '2026-07-28' } : {}),
      ...(era === 'legacy' && version ? { 'mcp-protocol-version': version } : {}),
      ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session }),
    };
  }

  probe(): Promise<boolean> {
    return answersProbe(this);
  }

  #abandoned(exchange: Exchange): void {
    this.#stopExchange(exchange);
    if (this.#greeting?.era === 'legacy' && exchange.dispatched !== 'no') {
      this.notify('notifications/cancelled', { members: `"requestId":${exchange.id}` });
    }
  }

  #stopExchange(exchange: Exchange): void {
    this.#inFlight.get(exchange)?.abort();
    this.#inFlight.delete(exchange);
  }

  // --- listening ---------------------------------------------------------------------------

  #answerHeaders(method: string, status: number, headers: HttpHeaders): void {
    if (!this.#greeting) this.#startStatus = status;
    const session = headers.get('mcp-session-id');
    if (method === 'initialize' && session !== undefined) this.#session = session;
  }

  #message(message: Message, exchange: Exchange): void {
    const isAnswer = message.kind === 'result' || message.kind === 'error';
    // An answer counts only on the stream of its own request.
    if (isAnswer && message.id !== exchange.id) this.#listener.noise('unknown-id');
    else this.#conversation.receive(message, exchange);
    if (exchange.isSettled) this.#stopExchange(exchange);
  }

  #over(exchange: Exchange, fault: Fault | undefined): void {
    this.#stopExchange(exchange);
    if (exchange.isSettled) return;
    if (fault) {
      if (fault.dispatched !== 'maybe') exchange.dispatched = fault.dispatched;
      this.#conversation.fail(exchange.id, fault);
    } else {
      this.#conversation.fail(exchange.id, this.#fault('ended its answer without a result'));
    }
  }

  /** A legacy answer that ended or was cut off goes on where it was; the call is not sent again. */
  #resume(exchange: Exchange, place: StreamPlace): void {
    this.#stopExchange(exchange);
    const resumption = new Resumption(this.#parts, place, {
      headers: () => this.#headers('legacy'),
      message: (message) => this.#message(message, exchange),
      failed: (fault, isLost) => {
        this.#inFlight.delete(exchange);
        this.#startStatus = 0;
        const { generation } = this;
        if (isLost) this.#lose(fault.with({ generation }));
        this.#conversation.fail(exchange.id, fault.with({ generation }));
      },
    });
    this.#inFlight.set(exchange, resumption);
  }

  /**
   * Many servers answer 400 where they do not know the session (any more), and 400 may mean anything else: a
   * session in which not even a ping is taken is over. What was refused is not sent again.
   */
  #doubtSession(method: string, refused: Exchange): void {
    if (method === 'ping') {
      const over = () => this.#sessionRefused();
      const heard = (message: Message) => {
        if (!isFromSession(message)) over();
      };
      refused.answer.then(heard, over).catch(ignored);
      return;
    }
    if (this.#isDoubted || !this.#greeting) return;
    this.#isDoubted = true;
    const answered = () => {
      this.#isDoubted = false;
    };
    answersProbe(this).then(answered).catch(ignored);
  }

  #sessionRefused(): void {
    this.#session = undefined;
    this.#lose(this.#fault('does not take its session any more'));
  }

  /** The server has forgotten us: nothing was run, and a new session is needed. */
  #sessionLost(exchange: Exchange): void {
    this.#stopExchange(exchange);
    exchange.dispatched = 'no';
    this.#session = undefined;
    const fault = this.#fault('has ended the session');
    this.#lose(fault);
    this.#conversation.fail(exchange.id, fault);
  }

  #broken(exchange: Exchange, error: Error): void {
    this.#inFlight.delete(exchange);
    // A status that came before the break is no judgement of the server.
    this.#startStatus = 0;
    const shortage = exchange.dispatched === 'no' ? shortageOf(error) : undefined;
    if (shortage !== undefined) {
      const fault = shortageFault(this.#parts.server, this.generation, shortage, error);
      this.#conversation.fail(exchange.id, fault);
      return;
    }
    const code = (error as NodeJS.ErrnoException).code ?? error.name;
    const fault =
      exchange.dispatched === 'no'
        ? unreachableFault(this.#parts, this.generation, error)
        : this.#fault(`broke off the connection (${code})`);
    this.#lose(fault);
    this.#conversation.fail(exchange.id, fault);
  }

  #asked(message: Message, about: Exchange | undefined): void {
    if (this.#greeting?.era === 'modern') return this.#listener.noise('unanswerable-request');
    if (message.method === 'ping') this.respond(pingAnswer(message));
    else this.#listener.asked(message, about, this);
  }

  respond(answer: string | Buffer): void {
    this.#postMessage(answer).catch(ignored);
  }

  #unasked(message: Message): void {
    const isAnswer = message.kind === 'result' || message.kind === 'error';
    if (isAnswer) this.#listener.noise('unknown-id');
    else this.#conversation.receive(message);
  }

  // --- ending ------------------------------------------------------------------------------

  #lose(cause: Fault): void {
    if (this.isLost) return;
    this.isLost = true;
    this.#listener.ended(this);
    if (this.#greeting) this.#listener.lost(cause);
  }

  async close(reason: StopReason | 'lost'): Promise<number> {
    this.isLost = true;
    // The calls that a lost one still carries have sockets of their own; they go on unless we end.
    if (reason === 'lost') await this.#conversation.whenEmpty();
    if (reason === 'reload' || reason === 'idle') await this.#drain();
    this.#ending ??= this.#end();
    await this.#ending;
    return 0;
  }

  async #end(): Promise<void> {
    this.#isClosed = true;
    this.#stream?.[Symbol.dispose]();
    this.#conversation.failAll(this.#fault('was stopped'));
    this.#listener.ended(this);
    for (const inFlight of this.#inFlight.values()) inFlight.abort();
    this.#inFlight.clear();
    if (this.#session !== undefined) await this.#sayGoodbye();
  }

  async #drain(): Promise<void> {
    await within(this.#parts.clock, drainMs, this.#conversation.whenEmpty());
  }

  /** A legacy session is ended politely, but nobody waits long for the answer. */
  async #sayGoodbye(): Promise<void> {
    const { url, http, clock } = this.#parts;
    const headers = this.#headers('legacy');
    const request = { url, method: 'DELETE', headers, body: null } as const;
    await sendOneWay(http, request, clock, goodbyeMs).over;
  }

  #fault(what: string): Fault {
    const { server } = this.#parts;
    return new Fault('unavailable', `${server} ${what}`, { server, generation: this.generation });
  }
}
