// The contract between a transport and the gateway. A transport (stdio, HTTP, the 2024 transport)
// cuts bytes into messages, keeps connections and streams, and does not interpret messages; the
// gateway interprets messages and does not use sockets. Every request has a Reply, which takes what
// belongs to it and then exactly one answer.

import type { ClientFolder } from '../host/connections/client-folder.ts';
import type { CallId } from '../policy/idempotency.ts';
import type { Cut, Principal } from '../policy/principal.ts';
import type { ClientCancel } from '../wire/client-cancel.ts';
import type { Frame } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
import type { SessionState, WatchedAddress } from './clients/session-state.ts';

/** How many requests of one client may be running; every server's queue is far smaller. */
export const maxUnderWay = 4_096;

/**
 * Where one request is answered. After the answer, or once the client has disconnected, nothing
 * more is accepted.
 */
export interface Reply {
  /**
   * Messages before the answer that belong to the request: its progress, its log lines and, in the
   * legacy era, requests of its server to the client. Of waiting frames of one `kind`, for a client
   * which does not keep up, one is enough.
   */
  send(frame: Frame, kind?: string): void;
  /** The one answer; `code` is that of its JSON-RPC error, if it is one (HTTP has a status for some). */
  answer(frame: Frame, code?: number): void;
  /**
   * There will be no answer: the client has cancelled the request or disconnected. For transports
   * that keep something open until there is one.
   */
  withdrawn?(): void;
}

/** A running request. */
export interface Underway {
  /**
   * The client has cancelled it or disconnected: the server is notified, and nothing more is
   * answered. `words` is what the client said, if it said anything.
   */
  cancel(words?: ClientCancel): void;
}

/** A message of a legacy session that belongs to no request of its client; `kind` as above. */
export interface Outlet {
  send(frame: Frame, kind?: string): void;
}

/** A request that is not answered yet. */
export interface OpenRequest {
  readonly id: string | number;
  readonly method: string;
}

/** One legacy client, from `initialize` to its end; one per connection (stdio) or session (HTTP). */
export interface Session {
  /**
   * A message of the client; `reply` is there for requests. Notifications and answers are not
   * answered. The result is there for a request that did not end at once.
   */
  receive(message: Message, reply: Reply | undefined): Underway | undefined;
  /** The revision that was agreed on; undefined before `initialize` has been answered. */
  readonly protocolVersion: string | undefined;
  /** Requests of the client that are not answered yet. */
  readonly inFlight: number;
  /** The same, each with its method; `initialize` is none of them. */
  readonly openRequests?: readonly OpenRequest[];
  /** What the next process needs to go on with it. */
  readonly state?: SessionState;
  /** The process before has begun to watch this for its client, by a request that was under way. */
  watchAlso?(address: WatchedAddress): void;
  /**
   * The client sends nothing more, but still reads: pending requests to it are answered with an
   * error.
   */
  inputEnded?(): void;
  /** The access of its principal has ended: its requests are answered with an error, and it is closed. */
  endAccess?(): void;
  /** The client has disconnected: its requests are cancelled, its own connections end. */
  close(): void;
}

export interface SessionOptions {
  /**
   * Names the client to servers and calls: no other client has it, in this process or another one, and it is the same
   * wherever its session goes on. Absent: one is made that is good for this process.
   */
  readonly key?: string | undefined;
  /**
   * The id of the first request to it; absent: 1. A client that may answer late to an earlier process is given
   * another one each time.
   */
  readonly firstQuestion?: number | undefined;
  /** Where the client was started, if it is on this machine and has said so. */
  readonly folder?: ClientFolder | undefined;
  /** The session that the process before has handed over: it goes on. */
  readonly restored?: SessionState | undefined;
}

/** Who sends a modern request. */
export interface ModernSender {
  readonly principal: Principal;
  readonly client: string;
  readonly folder?: ClientFolder | undefined;
  /** By which the transport may bring the same request again; absent: it does not. */
  readonly callId?: CallId | undefined;
  /** The process before has begun what it asks for: it may have missed something on the way. */
  readonly goesOn?: boolean | undefined;
  /** In a rollout its transport takes it to the next process, where what it listens to goes on. */
  readonly goesAlong?: boolean | undefined;
}

/** The gateway as transports see it. */
export interface GatewayForTransports {
  /** A new legacy client. */
  openSession(principal: Principal, outlet: Outlet, options?: SessionOptions): Session;
  /**
   * One independent modern request. `client` distinguishes clients of one principal where the
   * transport can (a stdio connection); over HTTP it is the principal's id. The envelope in `_meta`
   * has been validated (see `modern-envelope.ts`).
   */
  request(message: Message, from: ModernSender, reply: Reply): Underway | undefined;
  /** A modern notification that is not a cancellation. */
  notified(
    message: Message,
    from: { readonly principal: Principal; readonly client: string },
  ): void;
  /**
   * The schema of a tool's arguments as the client sees it, for headers that repeat arguments
   * (`Mcp-Param-*`); undefined if it is not known.
   */
  inputSchemaOf(tool: string, principal: Principal): unknown;
  /** The replica that has what this modern request continues, where there are several; undefined: none, or this one. */
  holderOf?(message: Message, principal: Principal): string | undefined;
  /**
   * Ends every modern subscription in the way that tells its client that it is over: another process has the next one.
   * Those of clients that go there with their transport are left.
   */
  endListenings?(): void;
  /** Requests without an answer, and parked calls: what keeps a process that another one has replaced. */
  readonly unfinished?: number;
  /** The principal behind a path that takes rights away; undefined if nothing is left of them. */
  narrowed(principal: Principal, cut: Cut): Principal | undefined;
  /**
   * The access of these principals has ended, by id: their modern requests are answered with an error, and nothing
   * is kept for them any more.
   */
  accessEnded(ids: ReadonlySet<string>): void;
  /** An unexpected error while a client's message was handled: counted and reported. */
  caught(error: unknown): void;
}
