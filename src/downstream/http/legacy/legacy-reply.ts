// The response to one legacy POST: one request, or all the requests of a batch. It is plain JSON if
// the answers come first, and a stream of events as soon as something comes before them or they
// take long. Unlike in the modern era a broken connection cancels nothing: the client resumes the
// stream, with the id of the last event it saw. That is why a request that takes longer than a
// moment becomes a stream before there is anything to send, for clients that support it.

import type { ServerResponse } from 'node:http';
import { contain } from '../../../kernel/contain.ts';
import { rpcCodes } from '../../../wire/eras.ts';
import type { Frame } from '../../../wire/frames.ts';
import type { Reply, Underway } from '../../contract.ts';
import { accept, answerJson, type HeaderList, refuseRpc } from '../answers.ts';
import { listOf } from '../frame-bytes.ts';
import type { Edge } from '../http-context.ts';
import type { HttpSession, SessionOpening } from './http-session.ts';
import type { Track } from './resumable-stream.ts';

export interface LegacyReplyParts {
  readonly res: ServerResponse;
  readonly edge: Edge;
  readonly session: HttpSession;
  readonly readsEvents: boolean;
  /** How many requests wait for an answer. */
  readonly expected: number;
  readonly isBatch: boolean;
}

export class LegacyReply implements Reply {
  readonly #parts: LegacyReplyParts;
  #answers: Frame[] | undefined;
  #left: number;
  #isCut = false;
  #underway: Underway | undefined;
  #track: Track | undefined;
  #firstSign: Disposable | undefined;

  constructor(parts: LegacyReplyParts) {
    this.#parts = parts;
    this.#left = parts.expected;
  }

  /** Everything has been passed to the gateway; some of it may be answered already. */
  taken(underway: Underway | undefined): void {
    this.#underway = underway;
    const { edge, session, readsEvents } = this.#parts;
    if (this.#left === 0 || this.#track !== undefined || !readsEvents) return;
    const { primeMs, heartbeatMs } = edge.limits;
    const firstSignMs = session.isPrimed ? primeMs : heartbeatMs;
    this.#firstSign = edge.deadlines.after(firstSignMs, () => this.#stream());
  }

  send(frame: Frame, kind?: string): void {
    const { session, readsEvents } = this.#parts;
    if (this.#left === 0) return;
    // A client that cannot read a stream here may still listen on one of its own.
    if (readsEvents) this.#stream()?.say(frame, kind);
    else session.send(frame, kind);
  }

  answer(frame: Frame): void {
    if (this.#left === 0) return;
    this.#left -= 1;
    if (this.#track === undefined) {
      this.#answers ??= [];
      this.#answers.push(frame);
    } else {
      this.#track.say(frame);
    }
    if (this.#left === 0) this.#finish();
  }

  /** The client has cancelled a request, or its session has ended: the answer is not needed. */
  withdrawn(): void {
    if (this.#left === 0) return;
    if (this.#parts.session.isClosed) return this.#sessionEnded();
    this.#left -= 1;
    this.#isCut = true;
    if (this.#left === 0) this.#finish();
  }

  /** The client does not read the response: its requests are cancelled. */
  #giveUp(): void {
    this.#underway?.cancel();
  }

  #sessionEnded(): void {
    this.#left = 0;
    this.#firstSign?.[Symbol.dispose]();
    const { res } = this.#parts;
    if (this.#track === undefined && !res.closed) refuseRpc(res, 404, sessionGone);
  }

  /** The stream of this reply. A client that disconnected before it began cannot resume it. */
  #stream(): Track | undefined {
    if (this.#track !== undefined) return this.#track;
    this.#firstSign?.[Symbol.dispose]();
    const { session, res } = this.#parts;
    if (res.closed) return undefined;
    this.#track = session.postTrack(res);
    this.#track.spent = () => this.#giveUp();
    for (const answer of this.#answers ?? []) this.#track.say(answer);
    this.#answers = undefined;
    return this.#track;
  }

  #finish(): void {
    const { session, res, edge, isBatch } = this.#parts;
    this.#firstSign?.[Symbol.dispose]();
    if (this.#track !== undefined) {
      // On the stream of a batch there may be answers that the client still comes back for.
      return this.#isCut && !isBatch ? session.abandon(this.#track) : session.finish(this.#track);
    }
    if (res.closed) return;
    const answers = this.#answers ?? [];
    if (answers.length === 0) return accept(res);
    const whole = isBatch ? listOf(answers) : (answers[0] ?? []);
    answerJson(res, 200, whole, edge);
  }
}

/** The reply to one request of a batch: whatever goes wrong, it counts once. */
export class ElementReply implements Reply {
  readonly #whole: Reply;
  #isOver = false;

  constructor(whole: Reply) {
    this.#whole = whole;
  }

  send(frame: Frame, kind?: string): void {
    if (!this.#isOver) this.#whole.send(frame, kind);
  }

  answer(frame: Frame, code?: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#whole.answer(frame, code);
  }

  withdrawn(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#whole.withdrawn?.();
  }
}

/**
 * The answer to `initialize`: one that is good brings the id of the session; an error, or a client
 * that does not wait for it, ends the session before it began.
 */
export class OpeningReply implements Reply, SessionOpening {
  readonly #res: ServerResponse;
  readonly #edge: Edge;
  readonly #session: HttpSession;
  readonly #failed: () => void;
  #isOver = false;

  constructor(res: ServerResponse, edge: Edge, session: HttpSession, failed: () => void) {
    this.#res = res;
    this.#edge = edge;
    this.#session = session;
    this.#failed = failed;
    session.opening = this;
    const { front } = edge;
    res.on('close', () =>
      contain(
        () => this.#abandoned(),
        (error) => front.caught(error),
      ),
    );
  }

  /** No message belongs to the handshake; messages during it are for the session. */
  send(frame: Frame, kind?: string): void {
    this.#session.send(frame, kind);
  }

  answer(frame: Frame, code?: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#session.opening = undefined;
    const isOpen = code === undefined;
    const more: HeaderList = isOpen ? ['Mcp-Session-Id', this.#session.id] : [];
    answerJson(this.#res, 200, frame, this.#edge, more);
    if (!isOpen) this.#failed();
  }

  sessionEnded(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!this.#res.closed) refuseRpc(this.#res, 404, sessionGone);
  }

  #abandoned(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#session.opening = undefined;
    this.#failed();
  }
}

/** The refusal of a request in a session that is not there, or not there any more. */
export const sessionGone = {
  code: rpcCodes.sessionNotFound,
  message: 'Session not found: it has ended or never existed; send initialize to begin a new one',
};
