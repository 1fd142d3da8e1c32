// The stream for unsolicited messages of a server in a legacy session: a GET that stays open. When
// it ends it is opened again, later each time, but at once after a healthy period: many proxies
// close a quiet stream every minute. It is resumed after the last event that had an id. A server
// that does not offer the stream is not asked again. It may fail without loss: answers come on the
// stream of their request.

import { type EndedStream, reopenMs } from '../../kernel/reopen.ts';
import type { Message } from '../../wire/scan.ts';
import { HttpAnswer } from './http-answer.ts';
import type { HttpInFlight } from './http-client.ts';
import type { HttpParts } from './http-parts.ts';

const longestReopenMs = 30_000;

/** A resumed stream should have delivered what was missed by then. */
const catchUpMs = 2_000;

/**
 * Whether a status means "not now" rather than "not here". 409: the server treats our last stream
 * as open.
 */
function isPassing(status: number): boolean {
  return status === 200 || status === 409 || status === 429 || status >= 500;
}

export interface UnaskedListener {
  heard(message: Message): void;
  /** The stream is there again, and what was said meanwhile may not come any more. */
  missed(): void;
}

/** Notified of the progress of one GET. */
interface GetListener {
  opened(): void;
  /** An event came. */
  spoke(): void;
  over(status: number, lastedMs: number, retryMs: number | undefined): void;
}

export class UnaskedStream implements Disposable {
  readonly #parts: HttpParts;
  readonly #headers: () => Readonly<Record<string, string>>;
  readonly #listener: UnaskedListener;
  #lastId: string | undefined;
  /** Of the latest GET. */
  #answer: HttpAnswer | undefined;
  /** Another serving process had such a stream just before. */
  #isContinued: boolean;
  #current: HttpInFlight | undefined;
  /** A new stream next to a resumed one that delivers nothing. */
  #beside: HttpInFlight | undefined;
  #timer: Disposable | undefined;
  #isClosed = false;

  /**
   * `headers`: those of the session, which may be another when the stream is opened again.
   * `former`: where the stream of the serving process before has ended.
   */
  constructor(
    parts: HttpParts,
    headers: () => Readonly<Record<string, string>>,
    listener: UnaskedListener,
    former?: { readonly lastEventId?: string },
  ) {
    this.#parts = parts;
    this.#headers = headers;
    this.#listener = listener;
    this.#lastId = former?.lastEventId;
    this.#isContinued = former !== undefined;
    this.#open(0);
  }

  /** The last event that had an id, as the value of a header. */
  get lastId(): string | undefined {
    return this.#answer?.place?.lastId ?? this.#lastId;
  }

  #open(waitedMs: number): void {
    const isResumed = this.#lastId !== undefined;
    this.#current = this.#get(this.#lastId, {
      opened: () => {
        if (isResumed) this.#after(catchUpMs, () => this.#openBeside());
        else if (waitedMs > 0 || this.#isContinued) this.#listener.missed();
        this.#isContinued = false;
      },
      spoke: () => {
        if (isResumed) this.#timer?.[Symbol.dispose]();
      },
      over: (status, lastedMs, retryMs) => {
        this.#beside?.abort();
        this.#over(status, { waitedMs, lastedMs, retryMs });
      },
    });
  }

  /**
   * The resumed stream has delivered nothing. That is correct if nothing was missed; but some
   * servers (all that use the SDK's example of an event store) then continue with a stream of
   * another name, on which they never send anything. A server that counts the resumed stream as
   * ours refuses a second one.
   */
  #openBeside(): void {
    let isCurrent = false;
    this.#beside = this.#get(undefined, {
      opened: () => {
        isCurrent = true;
        this.#current?.abort();
        this.#current = this.#beside;
        this.#beside = undefined;
        this.#listener.missed();
      },
      spoke: () => {},
      over: (status, lastedMs, retryMs) => {
        if (isCurrent) this.#over(status, { waitedMs: 0, lastedMs, retryMs });
      },
    });
  }

  #get(lastId: string | undefined, listener: GetListener): HttpInFlight {
    const { url, http, clock } = this.#parts;
    let status = 0;
    let openedAt: number | undefined;
    const over = () => {
      this.#lastId = answer.place?.lastId ?? this.#lastId;
      const lastedMs = openedAt === undefined ? 0 : clock.now() - openedAt;
      listener.over(status, lastedMs, answer.retryMs);
    };
    const answer = new HttpAnswer(this.#parts, {
      sent: () => {},
      headers: (received) => {
        status = received;
        if (status !== 200) return;
        openedAt = clock.now();
        listener.opened();
      },
      message: (message) => {
        listener.spoke();
        this.#listener.heard(message);
      },
      over,
      broken: over,
    });
    this.#answer = answer;
    const place = lastId === undefined ? {} : { 'last-event-id': lastId };
    const headers = { ...this.#headers(), accept: 'text/event-stream', ...place };
    return http.send({ url, method: 'GET', headers, body: null }, answer);
  }

  #over(status: number, ended: EndedStream): void {
    this.#current?.abort();
    this.#current = undefined;
    if (this.#isClosed) return;
    // 0: the network failed before there was a status.
    const isRefused = status !== 0 && !isPassing(status);
    if (isRefused && this.#lastId === undefined) return;
    // Perhaps it has only dropped the event that we named: then the stream is started without it.
    if (isRefused) this.#lastId = undefined;
    const ms = reopenMs(ended, longestReopenMs);
    this.#after(ms, () => this.#open(ms));
  }

  #after(ms: number, task: () => void): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#parts.clock.after(ms, task, true);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    this.#current?.abort();
    this.#beside?.abort();
  }
}
