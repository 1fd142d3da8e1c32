// The connection of a worker's gateway to its orchestrator, as the host sees one: a server of the modern era
// behind a broker. Links come and go below it (`channel.ts`); it is lost only if the broker refuses for good, or if the
// broker or the orchestrator was away for longer than it is waited for; then the host opens another when a call or a
// list needs it. Calls of tools are kept by the broker, because they may have an effect; everything else is told.

import { randomUUID } from 'node:crypto';
import type { OpenLink } from '../../broker/contract.ts';
import type { Random } from '../../kernel/clock.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { type CloseReason, letsCallsEnd } from '../../supervise/life-machine.ts';
import type { ProbeOutcome } from '../../upstream/classify.ts';
import type { Connection, ConnectionListener, RequestOptions } from '../../upstream/connection.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import { type ConnectionParts, ServerConnection } from '../../upstream/server-connection.ts';
import { unlessAborted } from '../../upstream/unless-aborted.ts';
import type { Era } from '../../wire/eras.ts';
import { joined, type TextOrFrame } from '../../wire/frames.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import { callIdOf } from '../call-ids.ts';
import { Channel } from './channel.ts';
import type { CallFailure } from './open-call.ts';
import { refusalFault } from './refusal-fault.ts';

export interface BrokerConnectionParts extends ConnectionParts {
  readonly openLink: OpenLink;
  /** The mailbox of the orchestrator. */
  readonly to: string;
  readonly random: Random;
  /** Unexpected errors. */
  readonly caught: Caught;
}

/** Rejects with a Fault, and then leaves nothing open. */
export async function connectToBroker(
  parts: BrokerConnectionParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const connection = new BrokerConnection(parts, generation, listener);
  try {
    await connection.start(signal);
    return connection;
  } catch (error) {
    await connection.close('start-failed');
    throw error;
  }
}

/** It speaks to our own gateway. */
const known = { modern: true, legacy: false } as const;

export class BrokerConnection extends ServerConnection<BrokerConnectionParts> {
  protected readonly isOrdered = false;
  readonly keepsRequests = true;
  readonly #channel: Channel;
  /** The call id of each exchange, until it ends. */
  readonly #callIds = new Map<Exchange, string>();
  #isClosed = false;

  constructor(parts: BrokerConnectionParts, generation: number, listener: ConnectionListener) {
    super(parts, generation, listener);
    const { openLink, to, clock, random, frameBytes, caught } = parts;
    this.#channel = new Channel({
      openLink,
      to,
      clock,
      random,
      caught,
      maxResponseBytes: frameBytes,
      missed: () => this.greeted && listener.missed(this),
      gaveUp: (cause) => {
        if (this.greeted) this.lose(refusalFault(cause, this.#facts));
      },
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const memory = { learn: () => {}, notInitialized: () => {} };
    const beginning = { first: 'modern', known, memory } as const;
    this.opened(await unlessAborted(signal, this.negotiated(beginning)));
  }

  hold(isHeld: boolean): void {
    this.#channel.hold(isHeld);
  }

  protected override get canSend(): boolean {
    return !this.#isClosed && !this.isLost;
  }

  protected override transmit(
    exchange: Exchange,
    frame: TextOrFrame,
    method: string,
    _era: Era,
    options: RequestOptions | undefined,
  ): void {
    const { callKey, remainingMs: ttlMs } = options ?? {};
    const id = callKey === undefined ? randomUUID() : callIdOf(callKey);
    this.#callIds.set(exchange, id);
    const body = Buffer.from(joined(frame));
    const isKept = method === 'tools/call';
    const isListening = method === 'subscriptions/listen';
    this.#channel.send(
      { id, body, isKept, isListening, ttlMs },
      {
        sent: () => {
          exchange.dispatched = 'maybe';
        },
        answered: (response) => {
          this.#callIds.delete(exchange);
          this.#answered(response, exchange);
        },
        news: (notification) => this.#heard(notification, exchange),
        failed: (why) => {
          this.#callIds.delete(exchange);
          this.#failed(exchange, why);
        },
      },
    );
  }

  /** The modern era has no messages to a server but requests; what is cancelled is said by its letter. */
  protected override async say(): Promise<void> {}

  protected override abandoned(exchange: Exchange): void {
    const id = this.#callIds.get(exchange);
    this.#callIds.delete(exchange);
    if (id !== undefined) this.#channel.cancel(id);
  }

  protected override outcomeOf(fault: Fault): ProbeOutcome {
    return { kind: 'unreachable', fault };
  }

  /** No other answer comes: one that is not its own ends the request, too. */
  #answered(bytes: Buffer, exchange: Exchange): void {
    exchange.dispatched = 'yes';
    const message = this.#messageIn(bytes, exchange);
    if (message === undefined) return;
    if (isAnswer(message) && message.id === exchange.id) {
      return this.conversation.receive(message, exchange);
    }
    this.count('unknown-id');
    this.#violated(exchange, 'answered a request with something that is not its answer');
  }

  #heard(bytes: Buffer, exchange: Exchange): void {
    const message = this.#messageIn(bytes, exchange);
    if (message === undefined) return;
    // An answer counts only for its own request.
    if (isAnswer(message) && message.id !== exchange.id) this.count('unknown-id');
    else this.conversation.receive(message, exchange);
  }

  /** Undefined if it is none: then the request has failed. */
  #messageIn(bytes: Buffer, exchange: Exchange): Message | undefined {
    try {
      return scanMessage(bytes);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#violated(exchange, 'sent what is no message');
      return undefined;
    }
  }

  #violated(exchange: Exchange, what: string): void {
    this.conversation.fail(exchange.id, this.fault(what, 'protocol_violation'));
  }

  #failed(exchange: Exchange, { reason, cause, dispatched }: CallFailure): void {
    exchange.dispatched = dispatched;
    const fault =
      reason === 'gone'
        ? this.#answerGone()
        : reason === 'damaged'
          ? this.fault(`cannot be reached: ${cause.message}`, 'protocol_violation')
          : refusalFault(cause, { ...this.#facts, dispatched });
    this.conversation.fail(exchange.id, fault);
  }

  #answerGone(): Fault {
    const detail = `${this.parts.server} has answered, but its answer is large, was not fetched in time and is kept no longer; check its effect before you send it again`;
    return new Fault('outcome_unknown', detail, { ...this.#facts, answerDropped: true });
  }

  get #facts() {
    return { server: this.parts.server, generation: this.generation };
  }

  protected override endWith(cause: Fault): void {
    this.conversation.failAll(cause);
    this.#channel.close().catch(ignored);
  }

  async close(reason: CloseReason): Promise<number> {
    this.isLost = true;
    if (letsCallsEnd(reason)) await this.conversation.drained();
    this.#isClosed = true;
    this.conversation.failAll(this.fault('was stopped'));
    this.listener.ended(this);
    await this.#channel.close();
    return 0;
  }
}

function isAnswer({ kind }: Message): boolean {
  return kind === 'result' || kind === 'error';
}
