// The client behind a call, as far as servers may speak to it. The host carries what a server asks
// back or says on its own account to the right client; how the client is reached, and in which
// era, is the business of the face it came through. A call without one (the library, the command
// line) has nobody to ask.

import type { Signal } from '../../kernel/cancel-signal.ts';
import type { Principal } from '../../policy/principal.ts';
import type { Message } from '../../wire/scan.ts';

export interface Client {
  /** Whose children are whose: the same for all calls of one client. */
  readonly key: string;
  /** It is asked only inside one of its calls, never between them (modern). */
  readonly isAskedInCalls: boolean;
  /** It has left for good: nothing new is begun for it. */
  readonly isGone?: boolean;
  /** Does it have roots that a server may ask for, in this call if it is asked in calls? */
  hasRoots(caller: Caller | undefined): boolean;
  /** Carries a server's request to it. Never rejects. */
  ask(question: Question): Promise<ClientAnswer>;
  /** Carries what a server says unasked; `caller` is the call it belongs to, if that is known. */
  tell(server: string, message: Message, caller: Caller | undefined): void;
}

/** One call of a client. The object itself is what tells calls apart. */
export interface Caller {
  readonly principal: Principal;
  readonly client: Client;
  /** What the client can do, as a modern server is told it: JSON. */
  readonly capabilities: string;
  /** From which level on it wants to hear log lines; undefined: it has not said. */
  readonly logLevel: string | undefined;
}

export interface Question {
  readonly server: string;
  /** The server's request, as it came. */
  readonly message: Message;
  /** The call it belongs to; undefined if it belongs to none, or it cannot be told. */
  readonly caller: Caller | undefined;
  /** The server no longer wants to know. */
  readonly withdrawn: Signal;
  /** Carries a notification of the client about this question to the server. */
  readonly tellServer: (message: Message) => void;
}

/** JSON text of the result or of the error object, as the client wrote it. */
export type ClientAnswer =
  | { readonly kind: 'result'; readonly json: string | Buffer }
  | { readonly kind: 'error'; readonly json: string | Buffer };
