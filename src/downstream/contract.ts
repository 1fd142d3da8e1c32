// What a transport and the gateway say to each other. A transport (stdio, HTTP, the 2024 transport)
// cuts bytes into messages, keeps connections and streams, and knows nothing of what is said on
// them; the gateway knows what a message means and nothing of sockets. Every request has a Reply,
// which takes what belongs to it and then exactly one answer.

import type { Principal } from '../policy/principal.ts';
import type { Frame } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';

/** Requests of one client that may be under way; every server's queue is far smaller. */
export const maxUnderWay = 4_096;

/** Where one request is answered. After the answer, or once the client is gone, nothing is taken. */
export interface Reply {
  /**
   * What comes before the answer and belongs to the request: its progress, its log lines and, in
   * the legacy era, what its server asks the client. Of frames of one `kind` that wait for a client
   * which does not keep up, one is enough.
   */
  send(frame: Frame, kind?: string): void;
  /** The one answer; `code` is that of its JSON-RPC error, if it is one (HTTP has a status for some). */
  answer(frame: Frame, code?: number): void;
  /**
   * There will be no answer: the client has cancelled the request or is gone. For transports that keep
   * something open until there is one.
   */
  withdrawn?(): void;
}

/** A request that is being worked on. */
export interface Underway {
  /** The client has cancelled it or is gone: the server is told, and nothing more is answered. */
  cancel(): void;
}

/** What a legacy session says that belongs to no request of its client; `kind` as above. */
export interface Outlet {
  send(frame: Frame, kind?: string): void;
}

/** One legacy client, from `initialize` to its end; one per connection (stdio) or session (HTTP). */
export interface Session {
  /**
   * A message of the client; `reply` is there for requests. Notifications and answers are taken
   * without a word. The result is there for a request that did not end at once.
   */
  receive(message: Message, reply: Reply | undefined): Underway | undefined;
  /** The revision that was agreed on; undefined before `initialize` has been answered. */
  readonly protocolVersion: string | undefined;
  /** Requests of the client that are not answered yet. */
  readonly inFlight: number;
  /** The client says nothing more, but still reads: what it has been asked is answered for it. */
  inputEnded?(): void;
  /** The client is gone for good: its requests are cancelled, its own children end. */
  close(): void;
}

/** The gateway as transports see it. */
export interface Front {
  /** A new legacy client. */
  openSession(principal: Principal, outlet: Outlet): Session;
  /**
   * One modern request, which stands for itself. `client` tells apart clients of one principal
   * where the transport can (a stdio connection); over HTTP it is the principal's id.
   * The envelope in `_meta` has been found to be there (see `modern-envelope.ts`).
   */
  request(
    message: Message,
    from: { readonly principal: Principal; readonly client: string },
    reply: Reply,
  ): Underway | undefined;
  /** A modern notification that is not a cancellation. */
  notified(
    message: Message,
    from: { readonly principal: Principal; readonly client: string },
  ): void;
  /**
   * The schema of a tool's arguments as the client knows it, for headers that mirror arguments
   * (`Mcp-Param-*`); undefined if the tool is unknown or nothing is known of it.
   */
  inputSchemaOf(tool: string, principal: Principal): unknown;
  /** An error that nobody expected while something of a client's was handled: counted and told. */
  caught(error: unknown): void;
}
