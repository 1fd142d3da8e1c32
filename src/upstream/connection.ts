// The contract of one open connection to one server, over any transport. A connection belongs to
// one generation, uses one era, and is never reused once it is lost. It moves frames and reports
// exactly how far each went; it does not decide whether a call may be repeated.

import type { Fault } from '../kernel/fault.ts';
import type { Noise } from '../observe/events.ts';
import type { Child } from '../supervise/child.ts';
import type { Described } from '../supervise/supervisor.ts';
import type { Era } from '../wire/eras.ts';
import type { Params } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
import type { Exchange, ExchangeOptions } from './exchange.ts';
import type { HandOver } from './handed-connection.ts';

/** What the server reported when the connection was opened. */
export interface Greeting {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly serverInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly instructions: string | undefined;
}

export interface RequestOptions extends ExchangeOptions {
  /** It is cancelled after this time; for our own requests, which have no deadline of a call. */
  readonly deadlineMs?: number;
  /** Where requests are kept: how long one that nobody has begun is of use. */
  readonly remainingMs?: number;
  /** Where requests are kept: the caller's own idempotency key. */
  readonly callKey?: string;
  /** HTTP, modern: headers that repeat parts of the body (`Mcp-Name`, `Mcp-Param-*`). */
  readonly headers?: Readonly<Record<string, string>>;
  /** Modern: the capabilities of the end client, as JSON; none if absent. */
  readonly capabilities?: string | undefined;
  /** Modern: the log level that the end client wants. */
  readonly logLevel?: string | undefined;
}

export interface Connection extends Described {
  readonly generation: number;
  readonly greeting: Greeting;
  /** No new request is accepted. Set before its running exchanges fail. */
  readonly isLost: boolean;
  /** The last lines of stderr; empty where there is none. */
  readonly stderr: readonly string[];
  /** The process behind it; undefined for a remote server. */
  readonly child: Child | undefined;
  /** Requests are kept on their way (a broker), and may be brought again. */
  readonly keepsRequests?: boolean;
  request(method: string, params: Params, options?: RequestOptions): Exchange;
  notify(method: string, params: Params): void;
  /** Answers a request of the server, with a frame of `answers.ts`. */
  respond(answer: string | Buffer): void;
  /**
   * Pauses or resumes reading from the server, because its only client does not keep up. A paused
   * server is not treated as hung.
   */
  hold?(isHeld: boolean): void;
  /**
   * The serving process before this one has calls on the same server: a message of the server that
   * does not show its call may belong to one of those.
   */
  readonly formerMayBeMeant?: boolean;
  /**
   * Gives the server up to the next serving process, except for the exchanges that are open. From
   * then on it takes no new calls, only what belongs to calls that were begun. Undefined: it cannot
   * be moved, or not now, and goes on as before.
   */
  handOver?(): Promise<HandOver | undefined>;
}

/** Notified of messages that the server sends by itself. */
export interface ConnectionListener {
  /** The end of an open connection that we did not close. */
  lost(cause: Fault): void;
  /**
   * All its exchanges have ended, whoever closed it; called before `lost`, and perhaps once more
   * when it is closed.
   */
  ended(from: Connection): void;
  /**
   * The last stderr lines of a process that has ended, also of one that never became a connection.
   */
  lastWords(stderr: readonly string[]): void;
  /** `about` is the exchange it belongs to, where the transport shows that. */
  notification(message: Message, about: Exchange | undefined, from: Connection): void;
  /** A request of the server to its client (legacy); answered by `respond`, once, in its own time. */
  asked(message: Message, about: Exchange | undefined, from: Connection): void;
  /**
   * Whether it is about a task that clients of this process have, whoever began its call; absent: about none. Asked where
   * the serving process before this one has calls on the same server.
   */
  isOfTask?(message: Message, from: Connection): boolean;
  /** The stream of what it says unasked was away for a while: something may not have been heard. */
  missed(from: Connection): void;
  noise(noise: Noise): void;
}
