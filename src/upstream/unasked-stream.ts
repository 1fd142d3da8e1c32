// The stream on which a legacy session hears what its server says unasked: a GET that stays open.
// When it ends it is opened again, later each time. A server that does not offer one is not asked
// again. It may fail without loss: what answers a request comes on the request's own stream.

import type { Message } from '../wire/scan.ts';
import type { HttpParts } from './http.ts';
import { HttpAnswer } from './http-answer.ts';
import type { HttpInFlight } from './http-client.ts';

const firstReopenMs = 1_000;
const longestReopenMs = 30_000;

export class UnaskedStream implements Disposable {
  readonly #parts: HttpParts;
  readonly #headers: () => Readonly<Record<string, string>>;
  readonly #heard: (message: Message) => void;
  #inFlight: HttpInFlight | undefined;
  #reopening: Disposable | undefined;
  #isClosed = false;

  /** `headers`: those of the session, which may be another when the stream is opened again. */
  constructor(
    parts: HttpParts,
    headers: () => Readonly<Record<string, string>>,
    heard: (message: Message) => void,
  ) {
    this.#parts = parts;
    this.#headers = headers;
    this.#heard = heard;
    this.#open(firstReopenMs);
  }

  #open(reopenMs: number): void {
    const { url, http, server, frameBytes } = this.#parts;
    let isOffered = true;
    const over = () => this.#over(isOffered, reopenMs);
    const answer = new HttpAnswer(server, frameBytes, {
      sent: () => {},
      headers: (status) => {
        isOffered = status === 200 || status >= 500;
      },
      message: (message) => this.#heard(message),
      over,
      broken: over,
    });
    const headers = { ...this.#headers(), accept: 'text/event-stream' };
    this.#inFlight = http.send({ url, method: 'GET', headers, body: null }, answer);
  }

  #over(isOffered: boolean, reopenMs: number): void {
    this.#inFlight?.abort();
    this.#inFlight = undefined;
    if (!isOffered || this.#isClosed) return;
    const nextMs = Math.min(reopenMs * 2, longestReopenMs);
    this.#reopening = this.#parts.clock.after(reopenMs, () => this.#open(nextMs), true);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#reopening?.[Symbol.dispose]();
    this.#inFlight?.abort();
  }
}
