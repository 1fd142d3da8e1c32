// Resumes a response stream that broke: a legacy server may give the events of a stream ids, and
// then a GET with `Last-Event-ID` continues where the stream ended, whether it ended properly (the
// server wants to be polled) or broke. The call itself is never sent again here. A server may end
// its stream properly as often as it likes, the deadline of the call decides; attempts without a
// result are counted, and after a few in a row the answer is abandoned.

import { backoffMs } from '../../kernel/backoff.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Message } from '../../wire/scan.ts';
import { HttpAnswer, type StreamPlace } from './http-answer.ts';
import type { HttpInFlight } from './http-client.ts';
import type { HttpParts } from './http-parts.ts';

export interface ResumptionListener {
  /** Those of the session. */
  headers(): Readonly<Record<string, string>>;
  message(message: Message): void;
  /** Abandoned. `isLost`: the session or the server itself is gone, not only this answer. */
  failed(fault: Fault, isLost: boolean): void;
}

/** How soon a broken stream is resumed, unless the server says when. */
const wait = { firstMs: 1_000, longestMs: 4_000 };
/** Not more often than this, whatever the server says. */
const leastWaitMs = 50;
/** So many attempts in a row may be without a result. */
const mostFruitless = 3;

/** How long to wait before the next attempt; undefined: no further attempt. Doubles with each that failed. */
export function nextWaitMs(fruitless: number, retryMs: number | undefined): number | undefined {
  if (fruitless >= mostFruitless) return undefined;
  const asked = Math.max(retryMs ?? wait.firstMs, leastWaitMs);
  return fruitless === 0 ? asked : Math.max(asked, backoffMs(wait, fruitless));
}

export class Resumption implements HttpInFlight {
  readonly #parts: HttpParts;
  readonly #listener: ResumptionListener;
  #place: StreamPlace;
  #fruitless = 0;
  #waiting: Disposable | undefined;
  #inFlight: HttpInFlight | undefined;
  #isOver = false;

  constructor(parts: HttpParts, place: StreamPlace, listener: ResumptionListener) {
    this.#parts = parts;
    this.#place = place;
    this.#listener = listener;
    this.#wait('the connection was dropped', false);
  }

  abort(): void {
    this.#isOver = true;
    this.#waiting?.[Symbol.dispose]();
    this.#inFlight?.abort();
  }

  #wait(what: string, isLost: boolean): void {
    const waitMs = nextWaitMs(this.#fruitless, this.#place.retryMs);
    if (waitMs === undefined) return this.#fail(this.#fault(what), isLost);
    this.#waiting = this.#parts.clock.after(waitMs, () => this.#ask(), true);
  }

  #ask(): void {
    const { url, http } = this.#parts;
    let status = 0;
    const answer = new HttpAnswer(this.#parts, {
      sent: () => {},
      headers: (received) => {
        status = received;
      },
      message: (message) => {
        this.#fruitless = 0;
        this.#listener.message(message);
      },
      over: (fault) => this.#ended(status, fault, answer.place),
      broken: (error) => this.#broken(error, answer.place),
    });
    const headers = {
      ...this.#listener.headers(),
      accept: 'text/event-stream',
      'last-event-id': this.#place.lastId,
    };
    this.#inFlight = http.send({ url, method: 'GET', headers, body: null }, answer);
  }

  #ended(status: number, fault: Fault | undefined, place: StreamPlace | undefined): void {
    if (this.#isOver) return;
    this.#inFlight?.abort();
    if (status === 200 && fault) return this.#fail(fault, false);
    if (status === 200) {
      this.#fruitless = 0;
      this.#place = place ?? this.#place;
      return this.#wait('ended its response stream', false);
    }
    // The call was accepted; what is refused unread here is only the resumption.
    if (status === 404) return this.#fail(this.#fault('has ended the session'), true);
    if (status !== 429 && status < 500) {
      return this.#fail(this.#fault('ended its response stream and cannot resume it'), false);
    }
    this.#fruitless += 1;
    this.#wait(`dropped its response stream and then answered HTTP ${status}`, true);
  }

  #broken(error: Error, place: StreamPlace | undefined): void {
    if (this.#isOver) return;
    const isFurther = place !== undefined && place.lastId !== this.#place.lastId;
    this.#fruitless = isFurther ? 0 : this.#fruitless + 1;
    this.#place = place ?? this.#place;
    const code = (error as NodeJS.ErrnoException).code ?? error.name;
    this.#wait(`dropped its response stream, and it could not be resumed (${code})`, true);
  }

  #fail(fault: Fault, isLost: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.failed(fault, isLost);
  }

  #fault(what: string): Fault {
    const { server } = this.#parts;
    return new Fault('unavailable', `${server} ${what}`, { server, dispatched: 'maybe' });
  }
}
