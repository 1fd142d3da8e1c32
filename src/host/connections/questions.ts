// Forwards unsolicited messages of a server to the right client: requests such as sampling and
// elicitation (legacy), log lines, unknown notifications. The client is certain if the message came
// on the stream of one client's request, or if only one client has ever used this connection. It
// may also be the client of the only running call, if all who have used the connection are the same
// principal; a notification also if the server is modern, where every message belongs to a call. In
// every other case the message is refused or dropped: a request shown to the wrong person, or a log
// line about somebody else's call, is worse than none. Requests for roots have rules of their own, in
// roots-questions.ts.

import type { Noise } from '../../observe/events.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import { refusedAnswer } from '../../upstream/server-requests.ts';
import { idOf } from '../../wire/decode.ts';
import type { Message } from '../../wire/scan.ts';
import type { BegunTasks } from '../tasks/begun-tasks.ts';
import type { Caller } from './caller.ts';
import type { ConnectionSlot } from './connection-slot.ts';
import { LogLevels } from './log-levels.ts';
import { OpenQuestions, type QuestionOwner } from './open-questions.ts';
import { RootsQuestions, type RootsQuestionsParts } from './roots-questions.ts';

export interface QuestionsParts extends RootsQuestionsParts {
  /** Whether this host has clients that could be asked. */
  readonly hasClients: boolean;
  /**
   * The server has sent a request to a client: the capabilities of classes make a difference to it.
   */
  readonly asked: () => void;
  readonly noise: (noise: Noise) => void;
  readonly tasks: BegunTasks;
}

export class Questions {
  readonly #parts: QuestionsParts;
  readonly #open: OpenQuestions;
  readonly #levels = new LogLevels();
  readonly #rootsQuestions: RootsQuestions;

  constructor(parts: QuestionsParts) {
    this.#parts = parts;
    this.#open = new OpenQuestions(parts);
    this.#rootsQuestions = new RootsQuestions(parts, this.#open);
  }

  /** A call is about to be sent: a legacy server has to know that the client is there. */
  calling(slot: ConnectionSlot, connection: Connection, caller: Caller, isFirst: boolean): void {
    if (connection.era !== 'legacy') return;
    // Roots that it has were not there before.
    const { client } = caller;
    const hasRoots = client.findRoots ? slot.roots !== undefined : client.hasRoots(caller);
    if (!isFirst || !hasRoots) return;
    connection.notify('notifications/roots/list_changed', { members: '' });
  }

  /**
   * What a legacy server must have received before a call of this client is sent, if that takes
   * time.
   */
  preparing(
    slot: ConnectionSlot,
    connection: Connection,
    caller: Caller,
  ): Promise<void> | undefined {
    if (connection.era !== 'legacy') return undefined;
    const { logLevel } = caller;
    const heard = logLevel === undefined ? undefined : this.#levels.want(connection, logLevel);
    const answered = this.#parts.roots.before(slot, connection, caller);
    return heard && answered ? Promise.all([heard, answered]).then(() => {}) : (heard ?? answered);
  }

  /**
   * The connection is closed, and so are the pending requests, except for those of calls that still
   * run on it.
   */
  lost(connection: Connection): void {
    this.#open.lost(connection);
    this.#parts.roots.lost(connection);
  }

  // --- requests ----------------------------------------------------------------------------

  asked(
    slot: ConnectionSlot,
    message: Message,
    about: Exchange | undefined,
    from: Connection,
  ): void {
    // A message about a task is for the client that began the task.
    const byTask = this.#parts.tasks.ownerOf(message, from);
    const certain = byTask ?? this.#owner(slot, about, from);
    const likely = certain ?? this.#onlyCallOf(slot, from);
    if (message.method === 'roots/list') {
      return this.#rootsQuestions.asked(slot, message, about, likely, from);
    }
    const owner = likely;
    this.#parts.asked();
    if (!owner) return this.#refuse(slot, message, from);
    // Only where the transport does not show the client do clients need separate connections.
    if (about === undefined && !byTask && slot.owner === null) this.#foundAsking();
    if (owner.client.isAskedInCalls && owner.caller === undefined) {
      return this.#refuse(slot, message, from);
    }
    this.#open.carry(slot, message, about, owner, from);
  }

  /** A call has been answered; `subject` says what it was. */
  answered(connection: Connection, caller: Caller, subject: string): void {
    this.#rootsQuestions.callAnswered(connection, caller, subject);
  }

  #refuse(slot: ConnectionSlot, message: Message, from: Connection): void {
    const { server, hasClients } = this.#parts;
    if (!hasClients)
      return from.respond(refusedAnswer(message, 'the client does not support this method'));
    if (slot.owner === null) this.#foundAsking();
    const why =
      `Holdfast cannot tell which client the request ${message.method} of ${server} is for; ` +
      `set "isolation": "client" for ${server} to give each client its own`;
    from.respond(refusedAnswer(message, why));
  }

  #foundAsking(): void {
    this.#parts.foundAsking();
  }

  // --- notifications -----------------------------------------------------------------------

  /** A notification that is not about the server itself. */
  told(
    slot: ConnectionSlot,
    message: Message,
    about: Exchange | undefined,
    from: Connection,
  ): void {
    if (message.method === 'notifications/cancelled') return this.#withdrawn(message, from);
    // Progress of a call that has ended: its token is ours, and the client may use the same one for
    // another call.
    if (message.method === 'notifications/progress') {
      return this.#parts.noise('unowned-notification');
    }
    const owner =
      this.#parts.tasks.ownerOf(message, from) ??
      this.#owner(slot, about, from) ??
      this.#callOf(slot, message, from);
    if (!owner) return this.#parts.noise('unowned-notification');
    const caller = owner.caller ?? slot.oldestCaller(owner.client);
    owner.client.tell(this.#parts.server, message, caller);
  }

  /** The only call that a message of the server can belong to. */
  #callOf(slot: ConnectionSlot, { method }: Message, from: Connection): QuestionOwner | undefined {
    if (from.formerMayBeMeant) return undefined;
    if (from.era !== 'modern' && !slot.hasOnePrincipal(from)) return undefined;
    const caller = slot.onlyCallerThat((one) =>
      method === 'notifications/message' ? one.logLevel !== undefined : true,
    );
    return caller && { client: caller.client, caller };
  }

  /**
   * Where all who have used the connection are the same principal, the only running call is meant.
   */
  #onlyCallOf(slot: ConnectionSlot, from: Connection): QuestionOwner | undefined {
    // A call of the process before this one may be meant as well.
    if (from.formerMayBeMeant) return undefined;
    const caller = slot.hasOnePrincipal(from) ? slot.onlyCaller : undefined;
    return caller && { client: caller.client, caller };
  }

  #withdrawn(message: Message, from: Connection): void {
    const span = message.paramsObject?.get('requestId');
    const id = span && idOf(message.bytes, span);
    if (id !== undefined) this.#open.withdraw(from, id);
  }

  #owner(
    slot: ConnectionSlot,
    about: Exchange | undefined,
    from: Connection,
  ): QuestionOwner | undefined {
    const caller = about?.owner as Caller | undefined;
    if (caller) return { client: caller.client, caller };
    const client = slot.onlyClientOf(from);
    // Another client may be about to use it, and have a slot already.
    const only = from.formerMayBeMeant ? undefined : slot.onlyCaller;
    return client && { client, caller: only?.client.key === client.key ? only : undefined };
  }
}
