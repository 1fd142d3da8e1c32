// The response to a modern request: plain JSON if the answer comes first, and a stream of events as
// soon as something comes before it, or when it takes so long that the connection needs a
// heartbeat. A client that closes the connection before the answer has cancelled the request.

import type { ServerResponse } from 'node:http';
import { contain } from '../../kernel/contain.ts';
import type { Frame } from '../../wire/frames.ts';
import type { Reply, Underway } from '../contract.ts';
import { answerJson, statusOf } from './answers.ts';
import type { Edge } from './http-context.ts';
import { EventStream } from './legacy/event-response.ts';

export class ModernReply implements Reply {
  readonly #res: ServerResponse;
  readonly #edge: Edge;
  readonly #readsEvents: boolean;
  #stream: EventStream | undefined;
  #firstSign: Disposable | undefined;
  #underway: Underway | undefined;
  #isOver = false;

  constructor(res: ServerResponse, edge: Edge, readsEvents: boolean) {
    this.#res = res;
    this.#edge = edge;
    this.#readsEvents = readsEvents;
  }

  /** The gateway has accepted the request; it may have answered already. */
  taken(underway: Underway | undefined): void {
    if (this.#isOver) return;
    this.#underway = underway;
    const { front } = this.#edge;
    this.#res.on('close', () =>
      contain(
        () => this.cancel(),
        (error) => front.caught(error),
      ),
    );
    if (this.#res.closed) return this.cancel();
    if (this.#stream !== undefined || !this.#readsEvents) return;
    const { deadlines, limits } = this.#edge;
    this.#firstSign = deadlines.after(limits.heartbeatMs, () => this.#open().raw(': working\n\n'));
  }

  send(frame: Frame, kind?: string): void {
    if (this.#isOver || !this.#readsEvents) return;
    const stream = this.#open();
    if (!stream.holds(kind, frame)) stream.message(frame);
  }

  answer(frame: Frame, code?: number): void {
    if (this.#isOver) return;
    this.#over();
    if (this.#stream === undefined) {
      answerJson(this.#res, statusOf(code), frame, this.#edge);
    } else {
      this.#stream.message(frame);
      this.#stream.end();
    }
  }

  /** The answer is not waited for any more. */
  cancel(): void {
    if (this.#isOver) return;
    this.#over();
    this.#stream?.end();
    this.#underway?.cancel();
  }

  /** The gateway has abandoned the request: there is nothing left to wait for. */
  withdrawn(): void {
    if (this.#isOver) return;
    this.#over();
    if (this.#stream === undefined) this.#res.destroy();
    else this.#stream.end();
  }

  #open(): EventStream {
    this.#firstSign?.[Symbol.dispose]();
    this.#stream ??= new EventStream(this.#res, this.#edge, [], () => this.cancel());
    return this.#stream;
  }

  #over(): void {
    this.#isOver = true;
    this.#firstSign?.[Symbol.dispose]();
  }
}
