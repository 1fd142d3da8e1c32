// The contract of one live connection to one server, whatever carries it. A connection belongs to
// one generation, speaks one era, and never comes back once it is lost. It moves frames and says
// truthfully how far each went; whether a call may be repeated is not its business.

import type { Fault } from '../kernel/fault.ts';
import type { Noise } from '../observe/events.ts';
import type { Child } from '../supervise/child.ts';
import type { Described } from '../supervise/supervisor.ts';
import type { Era } from '../wire/eras.ts';
import type { Params } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
import type { Exchange, ExchangeOptions } from './exchange.ts';

/** What a server said of itself when the connection was made. */
export interface Greeting {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly serverInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly instructions: string | undefined;
}

export interface RequestOptions extends ExchangeOptions {
  /** It is cancelled after this long; for requests of our own, which no call's deadline ends. */
  readonly deadlineMs?: number;
  /** HTTP, modern: headers that mirror parts of the body (`Mcp-Name`, `Mcp-Param-*`). */
  readonly headers?: Readonly<Record<string, string>>;
  /** Modern: what the end client can do, as JSON; nothing if absent. */
  readonly capabilities?: string | undefined;
  /** Modern: from which level on the end client wants to hear log lines. */
  readonly logLevel?: string | undefined;
}

export interface Connection extends Described {
  readonly generation: number;
  readonly greeting: Greeting;
  /** No new request will be taken. Set before the exchanges that it carried are failed. */
  readonly isLost: boolean;
  /** The last lines of stderr; empty where there is none. */
  readonly stderr: readonly string[];
  /** The process behind it; undefined for a remote server. */
  readonly child: Child | undefined;
  request(method: string, params: Params, options?: RequestOptions): Exchange;
  notify(method: string, params: Params): void;
  /** Answers a request of the server's, in the words of `answers.ts`. */
  respond(answer: string | Buffer): void;
  /**
   * Stops reading what the server says, or goes on: its only client does not keep up. A server that is
   * held up is not taken for hung.
   */
  hold?(isHeld: boolean): void;
}

/** Told what the server says on its own account. */
export interface ConnectionListener {
  /** The end of a connection that had been made and that we did not close. */
  lost(cause: Fault): void;
  /** It carries nothing any more, whoever has ended it; told before `lost`, and perhaps once more when it is closed. */
  ended(from: Connection): void;
  /** The last lines of a process that is gone, also of one that never became a connection. */
  lastWords(stderr: readonly string[]): void;
  /** `about` is the exchange it belongs to, where the transport shows that. */
  notification(message: Message, about: Exchange | undefined, from: Connection): void;
  /** A request of the server to its client (legacy); answered by `respond`, once, in its own time. */
  asked(message: Message, about: Exchange | undefined, from: Connection): void;
  noise(noise: Noise): void;
}
