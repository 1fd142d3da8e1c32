// Forwards unsolicited messages of a server to the right client: requests such as sampling and
// elicitation (legacy), log lines, unknown notifications. The client is certain if the message came
// on the stream of one client's request, or if only one client has ever used this connection. It
// may also be the client of the only running call, if all who have used the connection are the same
// principal; a notification also if the server is modern, where every message belongs to a call. In
// every other case the message is refused or dropped: a request shown to the wrong person, or a log
// line about somebody else's call, is worse than none. Roots are sent only on a connection that is
// used by one client only, whichever stream the request came on: a server keeps them, and uses them
// in every call.

import { createHash } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Noise } from '../../observe/events.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import { refusedAnswer, resultAnswer } from '../../upstream/server-requests.ts';
import { idOf } from '../../wire/decode.ts';
import type { Message } from '../../wire/scan.ts';
import type { BegunTasks } from '../tasks/begun-tasks.ts';
import type { Caller, CallRoots, Client, ClientAnswer, Question } from './caller.ts';
import type { ConnectionSlot } from './connection-slot.ts';
import type { ConnectionSlots } from './connection-slots.ts';
import { LogLevels } from './log-levels.ts';
import { OpenQuestions, type QuestionOwner } from './open-questions.ts';
import type { AskedWhile, RootsAtStart } from './roots-at-start.ts';

/**
 * How long a client may take to answer `roots/list` before the connection is reserved for it: others
 * do not wait for it.
 */
const reserveMs = 500;

/** Of how many tools, on one connection, it is remembered that they ask for roots. */
const maxSubjects = 64;

export interface QuestionsParts {
  readonly server: string;
  readonly clock: Clock;
  readonly slots: ConnectionSlots;
  /** Whether this host has clients that could be asked. */
  readonly hasClients: boolean;
  /**
   * The server has sent a request to a client: the capabilities of classes make a difference to it.
   */
  readonly asked: () => void;
  /** Whether the server is being asked for its lists there. */
  readonly isListing: (connection: Connection) => boolean;
  /** What a client's roots have to wait for before they are sent; undefined if there is nothing. */
  readonly beforeRoots: (slot: ConnectionSlot) => Promise<void> | undefined;
  /** It was sent a client's roots: its earlier answers may be different now. */
  readonly told: (slot: ConnectionSlot, connection: Connection) => void;
  /**
   * It sends requests without showing which client they are for: from now on each client needs its
   * own connection.
   */
  readonly foundAsking: () => void;
  readonly noise: (noise: Noise) => void;
  /** An unexpected error while a request or its answer was forwarded. */
  readonly caught: (error: unknown) => void;
  readonly roots: RootsAtStart;
  readonly tasks: BegunTasks;
}

export class Questions {
  readonly #parts: QuestionsParts;
  readonly #open: OpenQuestions;
  readonly #levels = new LogLevels();
  /** The roots that each connection was sent last, as a digest; gone with the connection. */
  readonly #sentRoots = new WeakMap<Connection, string>();
  /** The calls in which a client was asked for roots; each ends with its call. */
  readonly #askedIn = new WeakSet<Caller>();
  /** What was called when a client was asked for roots, on each connection; at most `maxSubjects`. */
  readonly #askingSubjects = new WeakMap<Connection, Set<string>>();

  constructor(parts: QuestionsParts) {
    this.#parts = parts;
    this.#open = new OpenQuestions(parts);
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
      return this.#rootsAsked(slot, message, about, likely, from);
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

  /** Roots belong to the client, but a server may also ask before it has any client. */
  #rootsAsked(
    slot: ConnectionSlot,
    message: Message,
    about: Exchange | undefined,
    likely: QuestionOwner | undefined,
    from: Connection,
  ): void {
    const { roots } = this.#parts;
    const owner = this.#rootsOwner(slot, likely, from);
    if (owner?.client.findRoots) return this.#rootsAskedInCall(slot, message, about, owner, from);
    const hasOwnerRoots = owner?.client.hasRoots(owner.caller) ?? false;
    roots.asked(from, hasOwnerRoots, this.#doing(slot, from));
    // It cannot be told which client is meant: from now on each has a connection of its own.
    const hasAny = slot.sentOn(from).some((one) => one.client.hasRoots(one));
    if (!owner && (hasAny || likely?.client.hasRoots(likely.caller))) this.#foundAsking();
    if (!owner || !hasOwnerRoots) return this.#answerNoRoots(message, from);
    this.#forwardRoots(slot, message, about, owner, from, (question) => owner.client.ask(question));
  }

  #doing(slot: ConnectionSlot, from: Connection): AskedWhile {
    return { isInCall: slot.sentOn(from).length > 0, isListing: this.#parts.isListing(from) };
  }

  /**
   * A call has been answered; `subject` says what it was. A server that asked in one such call, and not in
   * a later one, uses the roots of the first.
   */
  answered(connection: Connection, caller: Caller, subject: string): void {
    if (caller.client.findRoots === undefined || connection.era !== 'legacy') return;
    const asking = this.#askingSubjects.get(connection);
    if (this.#askedIn.has(caller)) {
      const subjects = asking ?? new Set();
      if (subjects.size < maxSubjects) this.#askingSubjects.set(connection, subjects.add(subject));
    } else if (asking?.has(subject) && caller.client.hasRoots(caller)) {
      this.#parts.roots.notAskedAgain();
    }
  }

  #answerNoRoots(message: Message, from: Connection): void {
    from.respond(resultAnswer(message, noRoots.json));
    this.#parts.roots.answered(from);
  }

  /** `caller`: the call that is asked, where the client can be asked only in calls. */
  #forwardRoots(
    slot: ConnectionSlot,
    message: Message,
    about: Exchange | undefined,
    owner: QuestionOwner,
    from: Connection,
    ask: (question: Question) => Promise<ClientAnswer>,
  ): void {
    const { client, caller } = owner;
    const { clock, roots, caught } = this.#parts;
    slot.claim(from, client);
    const reserving = clock.after(reserveMs, () => contain(() => this.#foundAsking(), caught));
    const isInCall = client.findRoots !== undefined;
    this.#open.carry(slot, message, about, owner, from, {
      ask: async (question) => {
        try {
          return await ask(question);
        } finally {
          reserving[Symbol.dispose]();
        }
      },
      before: this.#parts.beforeRoots(slot),
      told: (answer) => {
        const known = isInCall ? (caller?.roots ?? slot.roots) : undefined;
        return this.#rootsAnswer(slot, client, answer, from, known);
      },
      over: () => {
        if (client.isGone && slot.owner === null) slot.unclaim(from, client);
        roots.answered(from);
      },
    });
  }

  /**
   * The client can be asked only in a call: it is asked in the one that the server has received, unless
   * it was asked before that call was sent. Between calls, the server is told what it was told before.
   */
  #rootsAskedInCall(
    slot: ConnectionSlot,
    message: Message,
    about: Exchange | undefined,
    { client }: QuestionOwner,
    from: Connection,
  ): void {
    const { roots, server } = this.#parts;
    const isIts = (one: Caller | undefined) => one?.client.key === client.key;
    const exact = about?.owner as Caller | undefined;
    const caller = isIts(exact) ? exact : slot.onlyCallerThat(isIts);
    const isAsked = caller !== undefined && client.hasRoots(caller);
    const { roots: former } = slot;
    roots.asked(from, former !== undefined || isAsked, this.#doing(slot, from));
    const forward = (ask: () => Promise<ClientAnswer>) =>
      this.#forwardRoots(slot, message, about, { client, caller }, from, ask);
    if (isAsked) {
      this.#askedIn.add(caller);
      return forward(async () => {
        await findRoots(caller, server);
        return caller.roots?.answer ?? noRoots;
      });
    }
    const isForAll = slot.sentOn(from).every((one) => one.roots?.key === former?.key);
    if (former && isForAll) return forward(() => Promise.resolve(former.answer));
    // Which of its calls is meant is not known: from now on each has a connection of its own.
    if (slot.sentOn(from).length > 1) this.#foundAsking();
    this.#answerNoRoots(message, from);
  }

  /** The only client that has used the connection, or whose call waits for this very request. */
  #rootsOwner(
    slot: ConnectionSlot,
    likely: QuestionOwner | undefined,
    from: Connection,
  ): QuestionOwner | undefined {
    const client = slot.onlyClientOf(from) ?? slot.onlyClientWaitingFor(from);
    if (!client) return undefined;
    const caller = likely?.client.key === client.key ? likely.caller : undefined;
    return { client, caller: caller ?? slot.oldestCaller(client) };
  }

  /**
   * What the server gets: since the client was asked, another client may have joined the
   * connection.
   */
  #rootsAnswer(
    slot: ConnectionSlot,
    client: Client,
    answer: ClientAnswer,
    from: Connection,
    known: CallRoots | undefined,
  ): ClientAnswer {
    const { slots, told } = this.#parts;
    const hasRoots = listsRoots(answer);
    // With one client's folders, it is no longer the same server for all clients.
    if (hasRoots && slot.owner === null) this.#foundAsking();
    const isAlone = hasRoots
      ? slots.keepFor(slot, from, client)
      : slot.onlyClientOf(from)?.key === client.key;
    // Another call of the same client may be there, and have other roots.
    const isOther = known && slot.roots?.key !== known.key && slot.sentOn(from).length > 1;
    if (isOther) this.#foundAsking();
    if (!isAlone || isOther) return noRoots;
    if (!hasRoots) return answer;
    slot.roots = known;
    // Many servers ask again and again: its lists are doubted only when the roots are others.
    const digest = createHash('sha256').update(answer.json).digest('base64');
    if (this.#sentRoots.get(from) !== digest) told(slot, from);
    this.#sentRoots.set(from, digest);
    return answer;
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
    if (from.era !== 'modern' && !slot.isOnePersons(from)) return undefined;
    const caller = slot.onlyCallerThat((one) =>
      method === 'notifications/message' ? one.logLevel !== undefined : true,
    );
    return caller && { client: caller.client, caller };
  }

  /**
   * Where all who have used the connection are the same principal, the only running call is meant.
   */
  #onlyCallOf(slot: ConnectionSlot, from: Connection): QuestionOwner | undefined {
    const caller = slot.isOnePersons(from) ? slot.onlyCaller : undefined;
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
    const only = slot.onlyCaller;
    return client && { client, caller: only?.client.key === client.key ? only : undefined };
  }
}

/** A client that cannot be asked now, or whose answer cannot be used, has none in this call. */
async function findRoots(caller: Caller, server: string): Promise<void> {
  try {
    await caller.client.findRoots?.(caller, server);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
  }
}

const noRoots = { kind: 'result', json: '{"roots":[]}' } as const;

function listsRoots(answer: ClientAnswer): boolean {
  if (answer.kind === 'error') return false;
  // A client may answer anything, also null.
  const result = JSON.parse(answer.json.toString('utf8')) as { roots?: unknown } | null;
  return Array.isArray(result?.roots) && result.roots.length > 0;
}
