// The former process of a rollout as its successor sees it, for the one client on stdio: which of the client's
// messages are for work of the former, its lines for the client, and its end. A former that ends unexpectedly leaves
// requests that may have run: they are answered with `outcome_unknown`.

import type { Writable } from 'node:stream';
import { Fault } from '../../kernel/fault.ts';
import { localUser } from '../../policy/principal.ts';
import { type Id, idOf } from '../../wire/decode.ts';
import { errorFrame, type Frame, resultFrame } from '../../wire/frames.ts';
import type { Message } from '../../wire/scan.ts';
import { firstQuestionAfter, type WatchedAddress } from '../clients/session-state.ts';
import { faultError, faultResult } from '../refusals.ts';
import {
  type ClientLink,
  linkKind,
  type RestoredStdio,
  type ToFormer,
  toSuccessorIn,
} from './handed-stdio.ts';

export interface FormerClientParts {
  readonly restored: RestoredStdio;
  readonly output: Writable;
  /** A frame for the client. */
  readonly write: (frame: Frame) => void;
  /** Some requests of the client have ended there. */
  readonly over: () => void;
  /** It watches this for the client from now on, by a request that was under way there. */
  readonly watched: (address: WatchedAddress) => void;
  /** Nothing is left there. */
  readonly done: () => void;
  readonly caught: (error: unknown) => void;
}

export class FormerClient {
  readonly #parts: FormerClientParts;
  readonly #link: ClientLink | undefined;
  readonly #isModern: boolean;
  /** By id, the methods of the requests that it works on; those of one client at most. */
  readonly #open: Map<Id, string>;
  /** The ids of its requests to the client are lower. */
  readonly #firstQuestion: number;
  readonly #listening: Disposable | undefined;
  /** What came of it and may still wait for the client. */
  #untakenBytes = 0;
  #isCorked = false;
  #isDone = false;

  constructor(parts: FormerClientParts) {
    this.#parts = parts;
    const { state, link } = parts.restored;
    const { open, session, era, isDrained } = state;
    this.#link = link;
    this.#isModern = era === 'modern';
    this.#open = new Map(open.map(({ id, method }) => [id, method]));
    this.#firstQuestion = session ? firstQuestionAfter(session) : 0;
    if (!isDrained && link) {
      // It is still in the middle of a line.
      parts.output.cork();
      this.#isCorked = true;
    }
    parts.output.on('drain', this.#take);
    this.#listening = link?.on(linkKind, (head, line) => this.#heard(head, line));
    const closed = link?.closed ?? Promise.resolve();
    closed.then(() => this.#lost()).catch(parts.caught);
  }

  /** It may be in the middle of a line. */
  get isInLine(): boolean {
    return this.#isCorked;
  }

  isUnderWay(id: unknown): boolean {
    return this.#open.has(id as Id);
  }

  /** What it works on; the process after this one has to know it, too. */
  get open(): readonly { readonly id: Id; readonly method: string }[] {
    return [...this.#open].map(([id, method]) => ({ id, method }));
  }

  /** Passes on what is for its work. */
  takes(message: Message): boolean {
    if (!this.#isFor(message)) return false;
    this.#say({ say: 'line' }, message.bytes);
    return true;
  }

  #isFor({ kind, method, id, bytes, paramsObject }: Message): boolean {
    const member = (name: 'requestId' | 'progressToken') => {
      const span = paramsObject?.find(name);
      return span && idOf(bytes, span);
    };
    if (kind === 'result' || kind === 'error') return this.#isQuestion(id);
    if (kind !== 'notification') return false;
    if (method === 'notifications/cancelled') return this.isUnderWay(member('requestId'));
    return method === 'notifications/progress' && this.#isQuestion(member('progressToken'));
  }

  #isQuestion(id: unknown): boolean {
    return typeof id === 'number' && id < this.#firstQuestion;
  }

  /** A request that goes on with something that it keeps for the client. */
  continue(message: Message): boolean {
    if (this.#isDone || this.#link === undefined) return false;
    this.#open.set(message.id as Id, message.method ?? '');
    this.#say({ say: 'line' }, message.bytes);
    return true;
  }

  inputEnded(): void {
    this.#say({ say: 'ended' });
  }

  /** The client is gone: what is left for it is cancelled. */
  clientGone(): void {
    this.#say({ say: 'gone' });
    this.#open.clear();
    this.#end();
  }

  #say({ say, bytes = 0 }: ToFormer, line?: Buffer): void {
    if (!this.#isDone) this.#link?.send(linkKind, { say, bytes }, line);
  }

  #heard(head: unknown, line: Buffer): void {
    const { write, over, watched } = this.#parts;
    const said = toSuccessorIn(head);
    switch (said.say) {
      case 'line':
        write([line]);
        this.#untakenBytes += line.length;
        // After the output was flushed.
        process.nextTick(this.#take);
        return;
      case 'over':
        for (const id of said.ids ?? []) this.#open.delete(id);
        return over();
      case 'watched':
        return said.watched && watched(said.watched);
      case 'drained':
        return this.#uncork();
      case 'done':
        // What is open now came too late for it.
        return this.#lost();
    }
  }

  /** The client keeps up: nothing of the former waits. */
  readonly #take = () => {
    if (this.#untakenBytes === 0 || this.#parts.output.writableNeedDrain) return;
    this.#say({ say: 'taken', bytes: this.#untakenBytes });
    this.#untakenBytes = 0;
  };

  #uncork(): void {
    if (this.#isCorked) this.#parts.output.uncork();
    this.#isCorked = false;
  }

  /** It has ended, and left what it did not answer. */
  #lost(): void {
    if (this.#isDone) return;
    // Perhaps in the middle of a line.
    if (this.#isCorked) this.#parts.write(['']);
    for (const [id, method] of this.#open) this.#parts.write(this.#lostAnswer(id, method));
    this.#open.clear();
    this.#parts.over();
    this.#end();
  }

  #lostAnswer(id: Id, method: string): Frame {
    const what = method === 'tools/call' ? 'the call' : `the request ${method}`;
    const detail = `the process that worked on it ended during a rollout; ${what} may have run and was not repeated: check its effect before you send it again`;
    const fault = new Fault('outcome_unknown', detail, { dispatched: 'maybe' });
    const text = JSON.stringify(id);
    if (method !== 'tools/call') return errorFrame(text, faultError(fault, localUser));
    const named = { isModern: this.#isModern, principal: localUser };
    return resultFrame(text, faultResult(fault, named));
  }

  #end(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#uncork();
    this.#parts.output.off('drain', this.#take);
    this.#listening?.[Symbol.dispose]();
    this.#parts.done();
  }
}
