// Answers `roots/list` of a legacy server. Roots are sent only on a connection that is used by one
// client only, whichever stream the request came on, because a server keeps them and uses them in every
// call. A client that can be asked only in calls is asked in the call that the request belongs to. Where
// the operator wants one connection for all clients, the roots of the first one are used for all.

import { createHash } from 'node:crypto';
import { type Clock, within } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import { resultAnswer } from '../../upstream/server-requests.ts';
import type { Message } from '../../wire/scan.ts';
import type { Caller, CallRoots, Client, ClientAnswer, Question } from './caller.ts';
import type { ConnectionSlot } from './connection-slot.ts';
import type { ConnectionSlots } from './connection-slots.ts';
import type { OpenQuestions, QuestionOwner } from './open-questions.ts';
import type { AskedWhile, RootsAtStart } from './roots-at-start.ts';

/**
 * How long a client may take to answer `roots/list` before the connection is reserved for it: others
 * do not wait for it.
 */
const reserveMs = 500;

/** Of how many tools, on one connection, it is remembered that they ask for roots. */
const maxSubjects = 64;

export interface RootsQuestionsParts {
  readonly server: string;
  readonly clock: Clock;
  readonly slots: ConnectionSlots;
  readonly roots: RootsAtStart;
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
  /** An unexpected error while a request or its answer was forwarded. */
  readonly caught: (error: unknown) => void;
}

export class RootsQuestions {
  readonly #parts: RootsQuestionsParts;
  readonly #open: OpenQuestions;
  /** The roots that each connection was sent last, as a digest; gone with the connection. */
  readonly #sentRoots = new WeakMap<Connection, string>();
  /** The answers that were read, as long as they exist. */
  readonly #readings = new WeakMap<ClientAnswer, ReadRoots>();
  /** Where the operator wants one connection for all clients: whose roots it was sent; gone with the connection. */
  readonly #forAll = new WeakMap<
    Connection,
    { readonly client: Client; readonly answer: ClientAnswer }
  >();
  /** Connections whose first client is being asked; gone with the connection. */
  readonly #askingFirst = new WeakSet<Connection>();
  /** The calls in which a client was asked for roots; each ends with its call. */
  readonly #askedIn = new WeakSet<Caller>();
  /** What was called when a client was asked for roots, on each connection; at most `maxSubjects`. */
  readonly #askingSubjects = new WeakMap<Connection, Set<string>>();

  constructor(parts: RootsQuestionsParts, open: OpenQuestions) {
    this.#parts = parts;
    this.#open = open;
  }

  /** Roots belong to the client, but a server may also ask before it has any client. */
  asked(
    slot: ConnectionSlot,
    message: Message,
    about: Exchange | undefined,
    likely: QuestionOwner | undefined,
    from: Connection,
  ): void {
    const { roots } = this.#parts;
    const owner = this.#ownerOf(slot, likely, from);
    const forAll = this.#answerForAll(slot, from);
    if (forAll && (!owner || owner.client.findRoots)) {
      roots.asked(from, false, this.#doing(slot, from));
      this.#noteSent(slot, from, forAll);
      return this.#answer(message, from, forAll);
    }
    if (owner?.client.findRoots) return this.#askedInCall(slot, message, about, owner, from);
    const hasOwnerRoots = owner?.client.hasRoots(owner.caller) ?? false;
    roots.asked(from, hasOwnerRoots, this.#doing(slot, from));
    // It cannot be told which client is meant: from now on each has a connection of its own.
    const hasAny = slot.sentOn(from).some((one) => one.client.hasRoots(one));
    if (!owner && (hasAny || likely?.client.hasRoots(likely.caller))) this.#parts.foundAsking();
    if (!owner || !hasOwnerRoots) return this.#answer(message, from, noRoots);
    const isOnly = slot.onlyClientOf(from) !== undefined;
    this.#forward(slot, message, about, owner, from, (question) =>
      forAll && !isOnly
        ? this.#askFirst(from, owner.client, forAll, question)
        : owner.client.ask(question),
    );
  }

  /**
   * Where all share the connection, the first client is asked for its present roots. The calls of others
   * do not wait for it: after a moment its former answer is used, and the server is told of a later one.
   */
  async #askFirst(
    from: Connection,
    client: Client,
    former: ClientAnswer,
    question: Question,
  ): Promise<ClientAnswer> {
    if (this.#askingFirst.has(from)) return former;
    this.#askingFirst.add(from);
    let current = former;
    let isLate = false;
    const asked = client
      .ask(question)
      .then((answer) => {
        current = answer;
        if (isLate) this.#answeredLate(from, client, answer);
      })
      .finally(() => this.#askingFirst.delete(from));
    await within(this.#parts.clock, reserveMs, asked);
    isLate = true;
    return current;
  }

  #answeredLate(from: Connection, client: Client, answer: ClientAnswer): void {
    const isSame = this.#read(answer).digest === this.#sentRoots.get(from);
    if (isSame || answer.kind === 'error' || from.isLost) return;
    this.#forAll.set(from, { client, answer });
    from.notify('notifications/roots/list_changed', { members: '' });
  }

  #doing(slot: ConnectionSlot, from: Connection): AskedWhile {
    return { isInCall: slot.sentOn(from).length > 0, isListing: this.#parts.isListing(from) };
  }

  /**
   * A call has been answered; `subject` says what it was. A server that asked in one such call, and not in
   * a later one, uses the roots of the first.
   */
  callAnswered(connection: Connection, caller: Caller, subject: string): void {
    if (caller.client.findRoots === undefined || connection.era !== 'legacy') return;
    const asking = this.#askingSubjects.get(connection);
    if (this.#askedIn.has(caller)) {
      const subjects = asking ?? new Set();
      if (subjects.size < maxSubjects) this.#askingSubjects.set(connection, subjects.add(subject));
    } else if (asking?.has(subject) && caller.client.hasRoots(caller)) {
      this.#parts.roots.notAskedAgain();
    }
  }

  #answer(message: Message, from: Connection, { json }: ClientAnswer): void {
    from.respond(resultAnswer(message, json));
    this.#parts.roots.answered(from);
  }

  /** `ask` asks the client, or gives what is known; `owner.caller` is the call that it is about. */
  #forward(
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
    const reserving = clock.after(reserveMs, () =>
      contain(() => this.#parts.foundAsking(), caught),
    );
    const isInCall = client.findRoots !== undefined;
    this.#open.carry(slot, message, about, owner, from, {
      ask: async (question) => {
        const answer = await ask(question);
        reserving[Symbol.dispose]();
        return answer;
      },
      before: this.#parts.beforeRoots(slot),
      told: (answer) => {
        const known = isInCall ? (caller?.roots ?? slot.roots) : undefined;
        return this.#answerFor(slot, client, answer, from, known);
      },
      over: () => {
        reserving[Symbol.dispose]();
        if (client.isGone && slot.owner === null) slot.unclaim(from, client);
        roots.answered(from);
      },
    });
  }

  /**
   * The client can be asked only in a call: it is asked in the one that the server has received, unless
   * it was asked before that call was sent. Between calls, the server is told what it was told before.
   */
  #askedInCall(
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
      this.#forward(slot, message, about, { client, caller }, from, ask);
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
    if (slot.sentOn(from).length > 1) this.#parts.foundAsking();
    this.#answer(message, from, noRoots);
  }

  /** Many servers ask again and again: its lists are doubted only when the roots are others. */
  #noteSent(slot: ConnectionSlot, from: Connection, answer: ClientAnswer): void {
    const { hasRoots, digest } = this.#read(answer);
    const before = this.#sentRoots.get(from);
    if (!hasRoots && before === undefined) return;
    if (before !== digest) this.#parts.told(slot, from);
    this.#sentRoots.set(from, digest);
  }

  /**
   * The only client that has used the connection, or whose call waits for this very request. Where several
   * wait for a connection that nobody has used, the first of them: it is reserved for that one.
   */
  #ownerOf(
    slot: ConnectionSlot,
    likely: QuestionOwner | undefined,
    from: Connection,
  ): QuestionOwner | undefined {
    const client =
      slot.onlyClientOf(from) ??
      slot.onlyClientWaitingFor(from) ??
      this.#firstWaiting(slot, from) ??
      this.#firstOfAll(from);
    if (!client) return undefined;
    const caller = likely?.client.key === client.key ? likely.caller : undefined;
    return { client, caller: caller ?? slot.oldestCaller(client) };
  }

  #firstWaiting(slot: ConnectionSlot, from: Connection): Client | undefined {
    // One that is asked in calls was asked before its call came here, or will be.
    const first = slot
      .waitingFor(from)
      .find((one) => !one.client.findRoots && !one.client.isGone && one.client.hasRoots(one));
    if (!first) return undefined;
    this.#parts.foundAsking();
    this.#parts.slots.reserve(slot, from, first.client);
    return first.client;
  }

  /** What every client's roots are said to be, where the operator wants one connection for all. */
  #answerForAll(slot: ConnectionSlot, from: Connection): ClientAnswer | undefined {
    const known = this.#forAll.get(from)?.answer;
    return known ?? (this.#parts.slots.isSharedByAll ? slot.roots?.answer : undefined);
  }

  /** The client whose roots are used for all, if it can be asked for its present ones. */
  #firstOfAll(from: Connection): Client | undefined {
    const client = this.#forAll.get(from)?.client;
    return client && !client.isGone && !client.findRoots ? client : undefined;
  }

  /**
   * What the server gets: since the client was asked, another client may have joined the
   * connection.
   */
  #answerFor(
    slot: ConnectionSlot,
    client: Client,
    answer: ClientAnswer,
    from: Connection,
    known: CallRoots | undefined,
  ): ClientAnswer {
    const { slots } = this.#parts;
    const { hasRoots } = this.#read(answer);
    // With one client's folders, it is no longer the same server for all clients.
    if (hasRoots && slot.owner === null) this.#parts.foundAsking();
    const isAlone = hasRoots
      ? slots.keepFor(slot, from, client)
      : slot.onlyClientOf(from)?.key === client.key;
    // Another call of the same client may be there, and have other roots.
    const isOther = known && (slot.roots?.key ?? '') !== known.key && slot.sentOn(from).length > 1;
    if (isOther) this.#parts.foundAsking();
    const isFirsts = this.#forAll.get(from)?.client.key === client.key;
    if ((!isAlone && !isFirsts) || isOther) return noRoots;
    slot.roots = hasRoots ? known : undefined;
    const isForAll = slots.isSharedByAll && (hasRoots || isFirsts);
    if (isForAll && answer.kind === 'result') this.#forAll.set(from, { client, answer });
    this.#noteSent(slot, from, answer);
    return answer;
  }

  /** A server that asks many times in one call is given the same answer, which is read once. */
  #read(answer: ClientAnswer): ReadRoots {
    const read = this.#readings.get(answer) ?? readRoots(answer);
    this.#readings.set(answer, read);
    return read;
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

interface ReadRoots {
  readonly hasRoots: boolean;
  readonly digest: string;
}

function readRoots({ kind, json }: ClientAnswer): ReadRoots {
  const digest = createHash('sha256').update(json).digest('base64');
  if (kind === 'error') return { hasRoots: false, digest };
  // A client may answer anything, also null.
  const result = JSON.parse(json.toString('utf8')) as { roots?: unknown } | null;
  return { hasRoots: Array.isArray(result?.roots) && result.roots.length > 0, digest };
}
