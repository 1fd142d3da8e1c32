// The client that made a call, as far as servers may send it messages. The host forwards a server's
// requests and notifications to the right client; the transport decides how the client is reached,
// and in which era. A call without one (the library, the command line) has no client to ask.

import type { Signal } from '../../kernel/cancel-signal.ts';
import type { Principal } from '../../policy/principal.ts';
import type { Message } from '../../wire/scan.ts';
import type { ClientFolder } from './client-folder.ts';

export interface Client {
  /** Identifies the client: the same for all calls of one client. */
  readonly key: string;
  /** Requests reach it only inside one of its calls, never between them (modern). */
  readonly isAskedInCalls: boolean;
  /** Whose share of connections it uses; undefined: there is no limit for it (the local user). */
  readonly sharingOwner?: string | undefined;
  /** It has disconnected: nothing new is begun for it. */
  readonly isGone?: boolean;
  /** Where it was started; undefined: that is not known. */
  readonly folder?: ClientFolder | undefined;
  /** Whether it has roots that a server may ask for, in this call if it is asked in calls. */
  hasRoots(caller: Caller | undefined): boolean;
  /**
   * Only of a client that is asked in calls: asks for the roots of this call, which are then in
   * `caller.roots`. Rejects with a Fault.
   */
  findRoots?(caller: Caller, server: string): Promise<void>;
  /** Forwards a server's request to it. Never rejects. */
  ask(question: Question): Promise<ClientAnswer>;
  /**
   * Forwards an unsolicited message of a server; `caller` is the call it belongs to, if that is
   * known.
   */
  tell(server: string, message: Message, caller: Caller | undefined): void;
}

/** Whose limits it has: those of its owner over all paths and sessions, or its own for the local user's. */
export function limitedAs({ key, sharingOwner }: Pick<Client, 'key' | 'sharingOwner'>): string {
  return sharingOwner ?? key;
}

/** One call of a client. The object itself is what tells calls apart. */
export interface Caller {
  readonly principal: Principal;
  readonly client: Client;
  /** The client's capabilities, for a modern server: JSON. */
  readonly capabilities: string;
  /** The log level that it asked for; undefined: none. */
  readonly logLevel: string | undefined;
  /**
   * The roots of this call, if its client is asked in calls and has said them: programs of one client
   * may have different ones.
   */
  readonly roots?: CallRoots | undefined;
}

/** What a client has answered to `roots/list` in one of its calls. */
export interface CallRoots {
  /** The same for the same roots; empty if there are none. */
  readonly key: string;
  readonly answer: ClientAnswer;
}

export interface Question {
  readonly server: string;
  /** The server's request, as it came. */
  readonly message: Message;
  /** The call it belongs to; undefined if it belongs to none, or that is unknown. */
  readonly caller: Caller | undefined;
  /** The server no longer needs the answer. */
  readonly withdrawn: Signal;
  /** It came as a message of its own, and not in a result, whose bytes were counted. */
  readonly isMessage?: boolean;
  /** Carries a notification of the client about this question to the server. */
  readonly tellServer: (message: Message) => void;
}

/** JSON text of the result or of the error object, as the client wrote it. */
export type ClientAnswer =
  | { readonly kind: 'result'; readonly json: string | Buffer }
  | { readonly kind: 'error'; readonly json: string | Buffer };
