// Reads the response to one POST: a JSON body or a stream of events, in either case messages; or a
// status that says why there are none. The size limit is enforced while the bytes arrive. Some
// servers send a streaming answer (`subscriptions/listen`) as JSON without an end, one message on a
// line: then each is read when its line is complete.

import { Fault } from '../../kernel/fault.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { HttpHeaders, HttpListener } from './http-client.ts';
import { type Remote, statusFault } from './http-status.ts';
import { mediaType } from './remote-words.ts';
import { EventStreamReader, type StreamEvent } from './sse-events.ts';

export interface AnswerListener {
  sent(): void;
  headers(status: number, headers: HttpHeaders): void;
  message(message: Message): void;
  /** The exchange has ended without (another) message; the fault says why, if it failed. */
  over(fault: Fault | undefined): void;
  /** The network failed; the request may or may not have arrived. */
  broken(error: Error): void;
}

export interface AnswerSource extends Remote {
  /** The largest message that is taken. */
  readonly frameBytes: number;
}

export interface StreamPlace {
  /** As the value of a header. */
  readonly lastId: string;
  readonly retryMs: number | undefined;
}

type Body =
  | { readonly kind: 'none' }
  /** At most the limit of bytes. */
  | { readonly kind: 'json'; readonly chunks: Buffer[]; bytes: number }
  | { readonly kind: 'events'; readonly reader: EventStreamReader };

export class HttpAnswer implements HttpListener {
  readonly #remote: AnswerSource;
  readonly #listener: AnswerListener;
  readonly #isStream: boolean;
  #body: Body = { kind: 'none' };
  #refusal: Fault | undefined;
  #isOver = false;

  /** `isStream`: more than one message may come, over a long time. */
  constructor(remote: AnswerSource, listener: AnswerListener, isStream = false) {
    this.#isStream = isStream;
    this.#remote = remote;
    this.#listener = listener;
  }

  /** The position at which an ended stream of events could be resumed. */
  get place(): StreamPlace | undefined {
    if (this.#refusal || this.#body.kind !== 'events') return undefined;
    const lastId = headerFrom(this.#body.reader.lastId);
    return lastId === undefined ? undefined : { lastId, retryMs: this.retryMs };
  }

  /** How long the server wants us to wait before we reconnect. */
  get retryMs(): number | undefined {
    return this.#body.kind === 'events' ? this.#body.reader.retryMs : undefined;
  }

  sent(): void {
    this.#listener.sent();
  }

  response(status: number, headers: HttpHeaders): void {
    this.#listener.headers(status, headers);
    if (status < 200 || status >= 300) {
      this.#refusal = statusFault(this.#remote, status, headers);
      // Refused unread: whatever the body says, it is not the answer.
      if (this.#refusal.dispatched === 'no') return;
    }
    const type = mediaType(headers);
    if (type === 'text/event-stream') {
      this.#body = { kind: 'events', reader: this.#eventReader() };
    } else if (type === 'application/json') {
      this.#body = { kind: 'json', chunks: [], bytes: 0 };
    }
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return;
    const body = this.#body;
    if (body.kind === 'events') return body.reader.push(chunk);
    if (body.kind === 'none') return;
    body.bytes += chunk.length;
    if (body.bytes > this.#remote.frameBytes) return this.#finish(this.#tooLarge());
    body.chunks.push(chunk);
    if (this.#isStream && chunk.includes(lineFeed)) this.#lines(body);
  }

  ended(): void {
    if (this.#isOver) return;
    const body = this.#body;
    const rest = body.kind === 'json' ? Buffer.concat(body.chunks) : undefined;
    if (rest && !isBlank(rest)) this.#message(rest);
    this.#finish(this.#refusal);
  }

  /** Whole lines that are messages are delivered; a message may also span several lines. */
  #lines(body: Body & { readonly kind: 'json' }): void {
    const bytes = Buffer.concat(body.chunks);
    let start = 0;
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, end + 1)) {
      const message = messageIn(bytes.subarray(start, end));
      if (!message) continue;
      start = end + 1;
      this.#listener.message(message);
    }
    const rest = bytes.subarray(start);
    body.chunks.splice(0, body.chunks.length, rest);
    body.bytes = rest.length;
  }

  failed(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.broken(error);
  }

  #eventReader(): EventStreamReader {
    return new EventStreamReader(this.#remote.frameBytes, {
      event: (event: StreamEvent) => this.#message(event.data),
      oversized: () => this.#finish(this.#tooLarge()),
    });
  }

  #message(bytes: Buffer): void {
    try {
      this.#listener.message(scanMessage(bytes));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      // A refusal may have an HTML page as its body; only an answer must be a message.
      if (this.#refusal) return;
      const { server } = this.#remote;
      const detail = `${server} sent an answer that is not valid MCP (${error.reason})`;
      this.#finish(new Fault('protocol_violation', detail, { server, dispatched: 'yes' }));
    }
  }

  #finish(fault: Fault | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.over(fault);
  }

  #tooLarge(): Fault {
    const { server, frameBytes } = this.#remote;
    return new Fault(
      'frame_too_large',
      `${server} answered with more than ${frameBytes} bytes; the call did run. Raise limits.frameBytes to accept it`,
      { server, dispatched: 'yes' },
    );
  }
}

/** A longer id does not fit into the headers of a request. */
const longestIdBytes = 4_096;

/**
 * An event's id as the value of `Last-Event-ID`: its UTF-8 bytes. Undefined if it is empty, which
 * means that the stream cannot be resumed, or cannot be sent in a header.
 */
function headerFrom(id: string | undefined): string | undefined {
  if (id === undefined || id === '' || id !== id.trim()) return undefined;
  const value = Buffer.from(id, 'utf8').toString('latin1');
  return value.length <= longestIdBytes && !hasControl(value) ? value : undefined;
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

const lineFeed = 0x0a;

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

function messageIn(bytes: Buffer): Message | undefined {
  try {
    return isBlank(bytes) ? undefined : scanMessage(bytes);
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
