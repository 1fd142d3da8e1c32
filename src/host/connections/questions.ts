// What a server says to its client on its own account: requests such as sampling and elicitation
// (legacy), log lines, notifications we have never heard of. Whom it is for is certain if it came on
// the stream of one client's request, or one client alone has ever used this connection. It may also go
// to the one call under way, if all who have used the connection are the same person; what is only said,
// not asked, also if the server is modern, where all it says belongs to a call. In every other case it is
// refused or dropped: a question shown to the wrong person, or a log line about somebody else's call, is
// worse than none. Roots are told only on a connection that one client alone has used and will use,
// whichever stream the question came on: a server keeps them, and uses them in every call.

import { CancelSignal } from '../../kernel/cancel-signal.ts';
import { contain, ignored } from '../../kernel/contain.ts';
import type { Noise } from '../../observe/events.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import {
  errorAnswer,
  internalAnswer,
  refusedAnswer,
  resultAnswer,
} from '../../upstream/server-requests.ts';
import { type Id, idOf } from '../../wire/decode.ts';
import type { Message } from '../../wire/scan.ts';
import { oneLine } from '../../wire/splice.ts';
import type { BegunTasks } from '../tasks/begun-tasks.ts';
import type { Caller, Client, ClientAnswer } from './caller.ts';
import type { ConnectionSlot } from './connection-slot.ts';
import type { ConnectionSlots } from './connection-slots.ts';
import { LogLevels } from './log-levels.ts';
import type { RootsAtStart } from './roots-at-start.ts';

export interface QuestionsParts {
  readonly server: string;
  readonly slots: ConnectionSlots;
  /** Does anybody stand behind this host who could be asked? */
  readonly hasClients: boolean;
  /** The server has asked a client: what classes of clients can do makes a difference to it. */
  readonly asked: () => void;
  /** It was told a client's roots: what it answered before may be answered otherwise now. */
  readonly told: () => void;
  /** It asks without showing which client it means: from now on each needs its own connection. */
  readonly foundAsking: () => void;
  readonly noise: (noise: Noise) => void;
  /** An error that nobody expected, on the way of a question or of its answer. */
  readonly caught: (error: unknown) => void;
  readonly roots: RootsAtStart;
  readonly tasks: BegunTasks;
}

export class Questions {
  readonly #parts: QuestionsParts;
  /** By the server's id, until answered; at most what clients may be asked, and as long as the connection. */
  readonly #open = new WeakMap<Connection, Map<Id, CancelSignal>>();
  readonly #levels = new LogLevels();

  constructor(parts: QuestionsParts) {
    this.#parts = parts;
  }

  /** A call is about to go out: a legacy server has to know who is there. */
  calling(connection: Connection, caller: Caller, isFirst: boolean): void {
    if (connection.era !== 'legacy') return;
    // Roots that it has were not there before.
    const { client } = caller;
    if (!isFirst || client.isAskedInCalls || !client.hasRoots(caller)) return;
    connection.notify('notifications/roots/list_changed', { members: '' });
  }

  /** What a legacy server must have heard before a call of this client goes out, if that takes time. */
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

  /** The connection is gone, and with it everybody who waited for an answer. */
  lost(connection: Connection): void {
    const open = this.#open.get(connection);
    this.#open.delete(connection);
    for (const cancelSignal of open?.values() ?? []) cancelSignal.abort();
    this.#parts.roots.lost(connection);
  }

  // --- requests ----------------------------------------------------------------------------

  asked(
    slot: ConnectionSlot,
    message: Message,
    about: Exchange | undefined,
    from: Connection,
  ): void {
    // What belongs to a task is for whoever began the task.
    const byTask = this.#parts.tasks.ownerOf(message, from);
    const certain = byTask ?? this.#owner(slot, about, from);
    const likely = certain ?? this.#onlyCallOf(slot, from);
    if (message.method === 'roots/list') return this.#rootsAsked(slot, message, likely, from);
    const owner = likely;
    this.#parts.asked();
    if (!owner) return this.#refuse(slot, message, from);
    // Only where the transport does not show whose it is do clients have to be kept apart.
    if (about === undefined && !byTask && slot.owner === null) this.#foundAsking();
    if (owner.client.isAskedInCalls && owner.caller === undefined) {
      return this.#refuse(slot, message, from);
    }
    this.#carry(slot, message, owner, from);
  }

  /** Roots are the client's, but a server may also ask before it has any. */
  #rootsAsked(
    slot: ConnectionSlot,
    message: Message,
    likely: Owner | undefined,
    from: Connection,
  ): void {
    const { roots } = this.#parts;
    roots.asked(from);
    const owner = this.#rootsOwner(slot, likely, from);
    if (!owner && likely?.client.hasRoots(likely.caller)) this.#foundAsking();
    if (!owner?.client.hasRoots(owner.caller)) {
      from.respond(resultAnswer(message, noRoots.json));
      return roots.answered(from);
    }
    const { client } = owner;
    slot.claim(from, client);
    const told = (answer: ClientAnswer) => this.#rootsAnswer(slot, client, answer, from);
    this.#carry(slot, message, owner, from, told, () => roots.answered(from));
  }

  /** The client that alone has used the connection, or whose call waits for this very question. */
  #rootsOwner(
    slot: ConnectionSlot,
    likely: Owner | undefined,
    from: Connection,
  ): Owner | undefined {
    const client = slot.onlyClientOf(from) ?? slot.onlyClientWaitingFor(from);
    if (!client) return undefined;
    const caller = likely?.client.key === client.key ? likely.caller : undefined;
    return { client, caller: caller ?? slot.oldestCaller(client) };
  }

  /** What the server is told: since the client was asked, another may have come to the connection. */
  #rootsAnswer(
    slot: ConnectionSlot,
    client: Client,
    answer: ClientAnswer,
    from: Connection,
  ): ClientAnswer {
    const { slots, told } = this.#parts;
    const hasRoots = listsRoots(answer);
    // Told where one client's folders are, it is no longer the same server for everybody.
    if (hasRoots && slot.owner === null) this.#foundAsking();
    const isAlone = hasRoots
      ? slots.keepFor(slot, from, client)
      : slot.onlyClientOf(from)?.key === client.key;
    if (!isAlone) return noRoots;
    if (hasRoots) told();
    return answer;
  }

  #carry(
    slot: ConnectionSlot,
    message: Message,
    { client, caller }: Owner,
    from: Connection,
    told: (answer: ClientAnswer) => ClientAnswer = (answer) => answer,
    over: () => void = ignored,
  ): void {
    const { server } = this.#parts;
    const withdrawn = new CancelSignal();
    const { id } = message;
    if (id === undefined || id === null) return over();
    const open = this.#openOf(from);
    open.set(id, withdrawn);
    const waiting = slot.waitingFor(client, caller);
    const tellServer = (said: Message) => {
      const { method = '', bytes, paramsObject } = said;
      const { start, end } = paramsObject ?? { start: -1, end: 1 };
      from.notify(method, { members: oneLine(bytes.subarray(start + 1, end - 1)) });
    };
    const ask = async () => {
      try {
        return await client.ask({ server, message, caller, withdrawn, tellServer });
      } finally {
        waiting[Symbol.dispose]();
        if (open.get(id) === withdrawn) open.delete(id);
      }
    };
    const answered = (answer: ClientAnswer) => {
      if (withdrawn.aborted || from.isLost) return;
      const { kind, json } = told(answer);
      const write = kind === 'result' ? resultAnswer : errorAnswer;
      from.respond(write(message, json));
    };
    const failed = (error: unknown) => {
      this.#parts.caught(error);
      if (!from.isLost) contain(() => from.respond(internalAnswer(message)), this.#parts.caught);
    };
    ask().then(answered).catch(failed).finally(over).catch(this.#parts.caught);
  }

  #refuse(slot: ConnectionSlot, message: Message, from: Connection): void {
    const { server, hasClients } = this.#parts;
    if (!hasClients)
      return from.respond(refusedAnswer(message, 'the client offers no such method'));
    if (slot.owner === null) this.#foundAsking();
    const why =
      `Holdfast cannot tell which of its clients ${server} asks with ${message.method}; ` +
      `set "isolation": "client" for ${server} to give each client its own`;
    from.respond(refusedAnswer(message, why));
  }

  #foundAsking(): void {
    this.#parts.foundAsking();
  }

  #openOf(connection: Connection): Map<Id, CancelSignal> {
    const open = this.#open.get(connection) ?? new Map<Id, CancelSignal>();
    this.#open.set(connection, open);
    return open;
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
    // Progress of a call that is over: its token is ours, and may be another one's at the client.
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

  /** The one call that a word of the server can belong to. */
  #callOf(slot: ConnectionSlot, { method }: Message, from: Connection): Owner | undefined {
    if (from.era !== 'modern' && !slot.isOnePersons(from)) return undefined;
    const caller = slot.onlyCallerThat((one) =>
      method === 'notifications/message' ? one.logLevel !== undefined : true,
    );
    return caller && { client: caller.client, caller };
  }

  /** Where all who have used the connection are the same person, the one call that is under way is meant. */
  #onlyCallOf(slot: ConnectionSlot, from: Connection): Owner | undefined {
    const caller = slot.isOnePersons(from) ? slot.onlyCaller : undefined;
    return caller && { client: caller.client, caller };
  }

  #withdrawn(message: Message, from: Connection): void {
    const span = message.paramsObject?.get('requestId');
    const id = span && idOf(message.bytes, span);
    if (id !== undefined) this.#open.get(from)?.get(id)?.abort();
  }

  #owner(slot: ConnectionSlot, about: Exchange | undefined, from: Connection): Owner | undefined {
    const caller = about?.owner as Caller | undefined;
    if (caller) return { client: caller.client, caller };
    const client = slot.onlyClientOf(from);
    // Somebody else may be on the way to it, and have taken a place already.
    const only = slot.onlyCaller;
    return client && { client, caller: only?.client.key === client.key ? only : undefined };
  }
}

interface Owner {
  readonly client: Client;
  readonly caller: Caller | undefined;
}

const noRoots = { kind: 'result', json: '{"roots":[]}' } as const;

function listsRoots(answer: ClientAnswer): boolean {
  if (answer.kind === 'error') return false;
  // A client may answer anything, also null.
  const result = JSON.parse(answer.json.toString('utf8')) as { roots?: unknown } | null;
  return Array.isArray(result?.roots) && result.roots.length > 0;
}
