// The base class of a connection to a server, for any transport: the result of the handshake,
// requests in the server's era, unsolicited messages, and the end. A transport adds how a message
// is sent, and what is closed with it (stdio/stdio-connection.ts, http/http-connection.ts,
// http/sse-2024-connection.ts).

import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { Fault, type FaultCode, type FaultFacts } from '../kernel/fault.ts';
import type { Noise } from '../observe/events.ts';
import type { Child } from '../supervise/child.ts';
import type { CloseReason } from '../supervise/life-machine.ts';
import { ClientCancel } from '../wire/client-cancel.ts';
import type { Era } from '../wire/eras.ts';
import {
  notificationToServer,
  type Params,
  requestToServer,
  type TextOrFrame,
  withProgress,
} from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
import type { ProbeOutcome } from './classify.ts';
import type { Connection, ConnectionListener, Greeting, RequestOptions } from './connection.ts';
import { Conversation } from './conversation.ts';
import type { Exchange } from './exchange.ts';
import { FormerMessages } from './former-messages.ts';
import { type ConnectionState, type FormerCalls, firstIdAfter } from './handed-connection.ts';
import { answersProbe } from './liveness.ts';
import {
  type EraMemory,
  envelopeHead,
  fullEnvelope,
  type Identity,
  modernEnvelope,
  type NegotiationOptions,
  negotiate,
  type Talk,
} from './negotiate.ts';
import { pingAnswer } from './server-requests.ts';

export interface ConnectionParts {
  readonly server: string;
  /** The largest message that is taken. */
  readonly frameBytes: number;
  readonly clock: Clock;
  /** How long the whole start may take. */
  readonly startTimeoutMs: number;
  readonly identity: Identity;
  /** The capabilities that we declare to a legacy server, as JSON. */
  readonly capabilities: string;
  /** The era of the client that it is opened for. */
  readonly first: Era;
  readonly eras: EraMemory;
}

const noLines: readonly string[] = [];

export abstract class ServerConnection<Parts extends ConnectionParts> implements Connection {
  readonly generation: number;
  isLost = false;
  protected readonly parts: Parts;
  protected readonly listener: ConnectionListener;
  protected readonly conversation: Conversation;
  /** Absent until the handshake is complete. */
  protected greeted: Greeting | undefined;
  /** After a rollout: the calls of the serving process before this one. */
  protected former: FormerMessages | undefined;
  /** Another serving process has it now; only what belongs to begun calls goes through here. */
  protected isHandedOver = false;
  /** Modern: the members of `_meta` except the client's capabilities. */
  #envelopeHead = '';
  #initializeId: number | undefined;
  #lostBy: Fault | undefined;

  constructor(parts: Parts, generation: number, listener: ConnectionListener) {
    this.parts = parts;
    this.generation = generation;
    this.listener = listener;
    this.conversation = new Conversation(
      {
        notification: (message, about) => listener.notification(message, about, this),
        request: (message, about) => this.#asked(message, about),
        noise: (noise) => this.count(noise),
        abandoned: (exchange) => this.abandoned(exchange),
      },
      parts.clock,
    );
  }

  // --- what a transport adds ---------------------------------------------------------------

  /** Whether the server reads our messages in the order in which we sent them. */
  protected abstract readonly isOrdered: boolean;
  protected abstract readonly canSend: boolean;
  protected abstract transmit(
    exchange: Exchange,
    frame: TextOrFrame,
    method: string,
    era: Era,
    options: RequestOptions | undefined,
  ): void;
  /** A message that expects no answer. Resolves when the next may follow. */
  protected abstract say(frame: TextOrFrame | Buffer): Promise<void>;
  /** The caller cancelled an exchange that is still open. */
  protected abstract abandoned(exchange: Exchange): void;
  /** What a failed exchange of the negotiation means. */
  protected abstract outcomeOf(fault: Fault): ProbeOutcome;
  abstract close(reason: CloseReason): Promise<number>;

  // --- what it is --------------------------------------------------------------------------

  get greeting(): Greeting {
    if (!this.greeted) throw new Error('the connection is not open yet');
    return this.greeted;
  }

  get era(): Era {
    return this.greeting.era;
  }

  get protocolVersion(): string {
    return this.greeting.protocolVersion;
  }

  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  get child(): Child | undefined {
    return undefined;
  }

  get stderr(): readonly string[] {
    return noLines;
  }

  get formerMayBeMeant(): boolean {
    return this.former?.mayHaveCalls ?? false;
  }

  // --- starting ----------------------------------------------------------------------------

  /** Negotiates the era, and reads what the server reports about itself. */
  protected negotiated(
    beginning: Pick<NegotiationOptions, 'first' | 'known' | 'memory'>,
    talk: Talk = this.talk(),
  ): Promise<Greeting> {
    const { identity, clock, startTimeoutMs, capabilities } = this.parts;
    return negotiate(talk, { ...beginning, identity, clock, startTimeoutMs, capabilities });
  }

  protected talk(): Talk {
    const { identity } = this.parts;
    return {
      isOrdered: this.isOrdered,
      request: (method, params, era, options) => {
        const envelope = era === 'modern' ? modernEnvelope(identity) : '';
        const exchange = this.send(method, params, envelope, era, options);
        if (method === 'initialize') this.#initializeId = exchange.id;
        return exchange;
      },
      notify: (method, params) => this.say(notificationToServer(method, params)),
      outcomeOf: (fault) => this.outcomeOf(fault),
    };
  }

  /** Throws if it was lost between the server's answer and now: nobody was told of that yet. */
  protected opened(greeting: Greeting): void {
    if (this.isLost) throw this.#lostBy ?? this.fault('was stopped');
    this.greeted = greeting;
    if (this.era === 'modern') this.#envelopeHead = envelopeHead(this.parts.identity);
  }

  // --- talking -----------------------------------------------------------------------------

  request(method: string, params: Params, options?: RequestOptions): Exchange {
    const envelope = this.#envelopeHead === '' ? '' : fullEnvelope(this.#envelopeHead, options);
    return this.send(method, params, envelope, this.era, options);
  }

  protected send(
    method: string,
    params: Params,
    envelope: string,
    era: Era,
    options?: RequestOptions,
  ): Exchange {
    const exchange = this.conversation.begin(options);
    if (!this.canSend || (this.isHandedOver && exchange.isBackground)) {
      this.conversation.fail(exchange.id, this.fault('is gone'));
      return exchange;
    }
    const meta = options?.progress ? withProgress(envelope, exchange.id) : envelope;
    const frame = requestToServer(exchange.id, method, params, meta);
    this.transmit(exchange, frame, method, era, options);
    return exchange;
  }

  notify(method: string, params: Params): void {
    this.say(notificationToServer(method, params)).catch(ignored);
  }

  respond(answer: string | Buffer): void {
    this.say(answer).catch(ignored);
  }

  probe(): Promise<boolean> {
    return answersProbe(this);
  }

  /**
   * The server is notified, if it may have received the request, with what the client wrote where a
   * client has cancelled.
   */
  protected tellCancelled(exchange: Exchange): void {
    // By the specification `initialize` must not be cancelled; its answer is dropped if it comes.
    if (exchange.dispatched === 'no' || exchange.id === this.#initializeId) return;
    const cause = exchange.cancelledBy?.cause;
    const params =
      cause instanceof ClientCancel
        ? cause.paramsFor(exchange.id)
        : { members: `"requestId":${exchange.id}` };
    this.notify('notifications/cancelled', params);
  }

  writeForFormer(line: Buffer): void {
    this.former?.said(line);
    this.say(line).catch(ignored);
  }

  // --- listening ---------------------------------------------------------------------------

  /** A message that does not show by its stream which exchange it is about. */
  protected received(message: Message): void {
    if (!this.former?.takes(message)) this.conversation.receive(message);
  }

  #asked(message: Message, about: Exchange | undefined): void {
    // The modern era has no requests from a server: such a request cannot be answered.
    if (this.greeted && this.era === 'modern') return this.count('unanswerable-request');
    if (message.method === 'ping') return this.respond(pingAnswer(message));
    const isTheirs =
      about === undefined && this.former?.takesRequest(message, this.conversation.hasClients);
    if (!isTheirs) this.listener.asked(message, about, this);
  }

  /** Something that belongs to no call. */
  protected count(noise: Noise): void {
    this.listener.noise(noise);
  }

  // --- ending ------------------------------------------------------------------------------

  /** It accepts no new request; reported once, whoever notices first. */
  protected lose(cause: Fault): void {
    if (this.isLost) return;
    this.isLost = true;
    this.#lostBy = cause;
    this.endWith(cause);
    this.former?.lost(cause);
    this.listener.ended(this);
    // Before the handshake is complete this is a failed start, which is reported by a rejection.
    if (this.greeted && !this.isHandedOver) this.listener.lost(cause);
  }

  /** Lets running calls finish, for a while. */
  protected async drained(): Promise<void> {
    const former = this.former?.drained(this.parts.clock);
    await Promise.all([this.conversation.drained(), former]);
  }

  // --- another serving process -------------------------------------------------------------

  protected get sharedState(): Pick<ConnectionState, 'generation' | 'greeting' | 'nextId'> {
    const { generation, greeting, conversation } = this;
    return { generation, greeting, nextId: conversation.nextId };
  }

  /** Goes on where the former was. */
  protected continues(state: ConnectionState, calls: FormerCalls | undefined): void {
    this.conversation.continueFrom(calls?.below ?? firstIdAfter(state));
    if (calls === undefined) return;
    this.former = new FormerMessages(calls, {
      respond: (answer) => this.respond(answer),
      isOfTask: (message) => this.listener.isOfTask?.(message, this) ?? false,
    });
  }

  /** What ends together with a connection that is lost. */
  protected abstract endWith(cause: Fault): void;

  /** `what` continues a sentence about the server. */
  protected fault(what: string, code: FaultCode = 'unavailable'): Fault {
    const { server } = this.parts;
    const facts = { server, generation: this.generation, ...this.faultFacts() };
    return new Fault(code, `${server} ${what}`, facts);
  }

  /** What the transport knows about any fault. */
  protected faultFacts(): FaultFacts {
    return {};
  }
}
