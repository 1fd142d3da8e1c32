// At the successor of a rollout: which messages of a server belong to calls of the serving process
// before it. An answer or progress shows it by its number, unless the call has become a task, which
// was handed over; a request of the server belongs to whoever has calls of clients there, and cannot
// be assigned if both have. What belongs to the former is passed on as the line that it was.

import { type Clock, within } from '../kernel/clock.ts';
import { contain, ignored } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';
import { type Id, idOf, numberOf } from '../wire/decode.ts';
import { rpcCodes } from '../wire/eras.ts';
import { errorFrame, idText } from '../wire/frames.ts';
import { joinPieces } from '../wire/pieces.ts';
import { type Message, scanMessage } from '../wire/scan.ts';
import { WireError } from '../wire/wire-error.ts';
import { drainMs } from './conversation.ts';
import type { FormerCalls } from './handed-connection.ts';

/** So many requests of the server are remembered by who was asked. */
const rememberedIds = 1024;
const lineFeed = 0x0a;

/** Who was asked; for the former the id as the server wrote it. */
type Asked = { readonly isOurs: true } | { readonly isOurs: false; readonly id: string };

export interface FormerMessagesParts {
  /** Answers the server. */
  readonly respond: (answer: Buffer) => void;
  /** Whether it is about a task that clients of this process have. */
  readonly isOfTask: (message: Message) => boolean;
}

export class FormerMessages {
  readonly #former: FormerCalls;
  readonly #isOfTask: (message: Message) => boolean;
  /** By the server's id; at most `rememberedIds`. */
  readonly #asked = new Map<Id, Asked>();

  constructor(former: FormerCalls, { respond, isOfTask }: FormerMessagesParts) {
    this.#former = former;
    this.#isOfTask = isOfTask;
    const over = () => {
      for (const answer of this.#refusals()) respond(answer);
    };
    former.over?.then(over, over).catch(ignored);
  }

  get mayHaveCalls(): boolean {
    return this.#former.mayHaveCalls;
  }

  /** Whether this id is one of the former's requests. */
  has(id: unknown): id is number {
    return typeof id === 'number' && Number.isInteger(id) && id >= 1 && id < this.#former.below;
  }

  // A link that fails must not end the connection: it reports its own end, to the former as well.

  heard(line: Buffer): void {
    contain(() => this.#former.heard(line), ignored);
  }

  /** The server is gone. */
  lost(fault: Fault): void {
    contain(() => this.#former.lost(fault), ignored);
  }

  /** Resolves when it has no calls any more, at once if it does not say so. */
  async whenOver(): Promise<void> {
    const { over, mayHaveCalls } = this.#former;
    if (over !== undefined && mayHaveCalls) await over;
  }

  /** Lets its calls finish, for a while. */
  async drained(clock: Clock): Promise<void> {
    await within(clock, drainMs, this.whenOver());
  }

  /** Passes an answer or a notification on, if it is the former's. */
  takes(message: Message): boolean {
    const isTheirs =
      message.kind === 'notification' ? this.#isAboutTheirs(message) : this.has(message.id);
    if (!isTheirs || message.kind === 'request') return false;
    this.heard(message.bytes);
    return true;
  }

  /** Passes a request of the server on, unless a client of ours may be meant. */
  takesRequest(message: Message, hasOurs: boolean): boolean {
    const isTheirs = this.mayHaveCalls && !hasOurs && !this.#isOfTask(message);
    const { id } = message;
    if (id !== undefined && id !== null) {
      this.#remember(id, isTheirs ? { isOurs: false, id: idText(message) } : { isOurs: true });
    }
    if (isTheirs) this.heard(message.bytes);
    return isTheirs;
  }

  /** A line of the former to the server: it may answer a request of the server. */
  said(line: Buffer): void {
    if (line.includes(lineFeed)) throw new Fault('internal', 'more than one line was passed on');
    if (this.#asked.size === 0) return;
    const id = answeredIn(line);
    if (id !== undefined) this.#asked.delete(id);
  }

  /** Answers to the requests that the former was asked and will not answer any more. */
  *#refusals(): Iterable<Buffer> {
    for (const [id, asked] of this.#asked) {
      if (asked.isOurs) continue;
      this.#asked.delete(id);
      const message = 'the client has ended its call';
      yield joinPieces(errorFrame(asked.id, { code: rpcCodes.internalError, message }));
    }
  }

  #isAboutTheirs(message: Message): boolean {
    const { method, paramsObject, bytes } = message;
    if (method === 'notifications/progress') {
      const span = paramsObject?.get('progressToken');
      const isTheirs = span !== undefined && this.has(numberOf(bytes, span));
      return isTheirs && !this.#isOfTask(message);
    }
    if (method !== 'notifications/cancelled') return false;
    const span = paramsObject?.get('requestId');
    const id = span && idOf(bytes, span);
    if (id === undefined) return false;
    // One that we do not know was asked before we were there.
    const isOurs = this.#asked.get(id)?.isOurs ?? false;
    if (!isOurs) this.#asked.delete(id);
    return !isOurs;
  }

  #remember(id: Id, asked: Asked): void {
    this.#asked.delete(id);
    this.#asked.set(id, asked);
    if (this.#asked.size <= rememberedIds) return;
    for (const oldest of this.#asked.keys()) {
      this.#asked.delete(oldest);
      break;
    }
  }
}

function answeredIn(line: Buffer): Id | undefined {
  try {
    const { kind, id } = scanMessage(line);
    return kind === 'result' || kind === 'error' ? (id ?? undefined) : undefined;
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
