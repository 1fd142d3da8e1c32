// The requests of a server that clients are being asked: each is forwarded to its client, and the
// client's answer to the server. One ends early if the server withdraws it, or if the connection is
// closed and no running call needs the answer. A client that does not answer for long has not: the server
// gets an error, and the client is told.

import { CancelSignal } from '../../kernel/cancel-signal.ts';
import type { Clock } from '../../kernel/clock.ts';
import { contain, ignored } from '../../kernel/contain.ts';
import type { Noise } from '../../observe/events.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Exchange } from '../../upstream/exchange.ts';
import {
  errorAnswer,
  internalAnswer,
  invalidAnswer,
  refusedAnswer,
  resultAnswer,
} from '../../upstream/server-requests.ts';
import type { Id } from '../../wire/decode.ts';
import type { Message } from '../../wire/scan.ts';
import { oneLine } from '../../wire/splice.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { Caller, Client, ClientAnswer, Question } from './caller.ts';
import type { ConnectionSlot } from './connection-slot.ts';

export interface OpenQuestionsParts {
  readonly server: string;
  readonly clock: Clock;
  readonly noise: (noise: Noise) => void;
  /** An unexpected error while a request or its answer was forwarded. */
  readonly caught: (error: unknown) => void;
}

/** Whose question it is. */
export interface QuestionOwner {
  readonly client: Client;
  readonly caller: Caller | undefined;
}

/** What else happens when a client answers. */
export interface Steps {
  /** How the client is asked; absent: by itself. */
  readonly ask?: (question: Question) => Promise<ClientAnswer>;
  /** What the answer waits for before it is sent to the server, from the question on. */
  readonly before: Promise<void> | undefined;
  /** What the server is sent instead of the client's answer. */
  readonly told: (answer: ClientAnswer) => ClientAnswer;
  /** The question is answered, or will not be. */
  readonly over: () => void;
}

/** So many requests of one connection wait for clients at most, and so many bytes of them. */
const maxOpen = 256;
const maxOpenBytes = 16_777_216;

/** A client has so long to answer: as long as a call takes at most, unless the config says otherwise. */
const answerMs = 600_000;

const noSteps: Steps = { before: undefined, told: (answer) => answer, over: ignored };

const late = 'the client has not answered in time';

interface OpenQuestion {
  readonly withdrawn: CancelSignal;
  /** The exchange on whose stream it came. */
  readonly about: Exchange | undefined;
  readonly length: number;
}

export class OpenQuestions {
  readonly #parts: OpenQuestionsParts;
  /** By the server's id, until answered; at most `maxOpen`, and as long as the connection. */
  readonly #open = new WeakMap<Connection, Map<Id, OpenQuestion>>();

  constructor(parts: OpenQuestionsParts) {
    this.#parts = parts;
  }

  /** Asks the client, and answers the server. */
  carry(
    slot: ConnectionSlot,
    message: Message,
    about: Exchange | undefined,
    { client, caller }: QuestionOwner,
    from: Connection,
    { ask: asked = (question) => client.ask(question), before, told, over }: Steps = noSteps,
  ): void {
    const { server } = this.#parts;
    const withdrawn = new CancelSignal();
    const { id } = message;
    if (id === undefined || id === null) return over();
    const open = this.#openOf(from);
    const question = { withdrawn, about, length: message.bytes.length };
    if (open.has(id) || isFull(open, question)) {
      const why = 'too many requests wait for an answer, or one with the same id';
      from.respond(refusedAnswer(message, why));
      return over();
    }
    open.set(id, question);
    let isLate = false;
    const giveUp = () => {
      isLate = true;
      withdrawn.abort();
    };
    const deadline = this.#parts.clock.after(answerMs, giveUp, true);
    const waiting = slot.holdFor(client, caller);
    const tellServer = (said: Message) => {
      const { method = '', bytes, paramsObject } = said;
      const { start, end } = paramsObject ?? { start: -1, end: 1 };
      from.notify(method, { members: oneLine(bytes.subarray(start + 1, end - 1)) });
    };
    const ask = async () => {
      try {
        const answer = await asked({
          server,
          message,
          caller,
          withdrawn,
          tellServer,
          isMessage: true,
        });
        await before;
        return answer;
      } finally {
        waiting[Symbol.dispose]();
        deadline[Symbol.dispose]();
        if (open.get(id) === question) open.delete(id);
      }
    };
    const answered = (answer: ClientAnswer) => {
      if (isLate && isAwaited(question, from)) return from.respond(refusedAnswer(message, late));
      if (withdrawn.aborted || !isAwaited(question, from)) return;
      const { kind, json } = told(answer);
      const write = kind === 'result' ? resultAnswer : errorAnswer;
      from.respond(write(message, json));
    };
    const failed = (error: unknown) => {
      const isInvalid = error instanceof WireError;
      if (isInvalid) this.#parts.noise('invalid-message');
      else this.#parts.caught(error);
      if (!isAwaited(question, from)) return;
      const answer = isInvalid ? invalidAnswer(message, error) : internalAnswer(message);
      contain(() => from.respond(answer), this.#parts.caught);
    };
    ask().then(answered).catch(failed).finally(over).catch(this.#parts.caught);
  }

  /** The server no longer wants an answer. */
  withdraw(connection: Connection, id: Id): void {
    this.#open.get(connection)?.get(id)?.withdrawn.abort();
  }

  /**
   * The connection is closed, and so are the pending requests, except for those of calls that still
   * run on it.
   */
  lost(connection: Connection): void {
    for (const question of this.#open.get(connection)?.values() ?? []) {
      if (!isAwaited(question, connection)) question.withdrawn.abort();
    }
  }

  #openOf(connection: Connection): Map<Id, OpenQuestion> {
    const open = this.#open.get(connection) ?? new Map<Id, OpenQuestion>();
    this.#open.set(connection, open);
    return open;
  }
}

/** One request may be as long as any message. */
function isFull(open: ReadonlyMap<Id, OpenQuestion>, { length }: OpenQuestion): boolean {
  if (open.size >= maxOpen) return true;
  let bytes = length;
  for (const question of open.values()) bytes += question.length;
  return open.size > 0 && bytes > maxOpenBytes;
}

/**
 * Whether its server waits for the answer. A connection that accepts no new calls goes on with
 * those that it has.
 */
function isAwaited({ about }: OpenQuestion, { isLost }: Connection): boolean {
  return !isLost || (about !== undefined && !about.isSettled);
}
