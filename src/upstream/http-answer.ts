// Reading what came back for one POST: a JSON body or a stream of events, in either case messages;
// or a status that says why there are none. The limit is kept while the bytes arrive.

import { Fault } from '../kernel/fault.ts';
import { type Message, scanMessage } from '../wire/scan.ts';
import { WireError } from '../wire/wire-error.ts';
import { EventStreamReader, type StreamEvent } from './event-stream.ts';
import type { HttpHeaders, HttpListener } from './http-client.ts';
import { statusFault } from './http-status.ts';

export interface AnswerListener {
  sent(): void;
  headers(status: number, headers: HttpHeaders): void;
  message(message: Message): void;
  /** The exchange is over without (another) message; the fault says how, if it ended badly. */
  over(fault: Fault | undefined): void;
  /** The network failed; the request may or may not have arrived. */
  broken(error: Error): void;
}

export interface StreamPlace {
  /** As the value of a header. */
  readonly lastId: string;
  readonly retryMs: number | undefined;
}

type Body =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly chunks: Buffer[]; bytes: number }
  | { readonly kind: 'events'; readonly reader: EventStreamReader };

export class HttpAnswer implements HttpListener {
  readonly #server: string;
  readonly #limitBytes: number;
  readonly #listener: AnswerListener;
  #body: Body = { kind: 'none' };
  #refusal: Fault | undefined;
  #isOver = false;

  constructor(server: string, limitBytes: number, listener: AnswerListener) {
    this.#server = server;
    this.#limitBytes = limitBytes;
    this.#listener = listener;
  }

  /** Where a stream of events that ended could be taken up again. */
  get place(): StreamPlace | undefined {
    if (this.#refusal || this.#body.kind !== 'events') return undefined;
    const lastId = headerFrom(this.#body.reader.lastId);
    return lastId === undefined ? undefined : { lastId, retryMs: this.retryMs };
  }

  /** How long the server wants us to wait before we come back. */
  get retryMs(): number | undefined {
    return this.#body.kind === 'events' ? this.#body.reader.retryMs : undefined;
  }

  sent(): void {
    this.#listener.sent();
  }

  response(status: number, headers: HttpHeaders): void {
    this.#listener.headers(status, headers);
    if (status < 200 || status >= 300) {
      this.#refusal = statusFault(
        this.#server,
        status,
        headers.get('retry-after'),
        headers.get('location'),
      );
      // Turned away unread: whatever the body says, it is not the answer.
      if (this.#refusal.dispatched === 'no') return;
    }
    const type = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
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
    if (body.bytes > this.#limitBytes) this.#finish(this.#tooLarge());
    else body.chunks.push(chunk);
  }

  ended(): void {
    if (this.#isOver) return;
    const body = this.#body;
    if (body.kind === 'json' && body.bytes > 0) this.#message(Buffer.concat(body.chunks));
    this.#finish(this.#refusal);
  }

  failed(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.broken(error);
  }

  #eventReader(): EventStreamReader {
    return new EventStreamReader(this.#limitBytes, {
      event: (event: StreamEvent) => this.#message(event.data),
      oversized: () => this.#finish(this.#tooLarge()),
    });
  }

  #message(bytes: Buffer): void {
    try {
      this.#listener.message(scanMessage(bytes));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      // A refusal may carry a page for people; only an answer must be a message.
      if (this.#refusal) return;
      this.#finish(
        new Fault(
          'protocol_violation',
          `${this.#server} sent an answer that is not valid MCP (${error.reason})`,
          { server: this.#server, dispatched: 'yes' },
        ),
      );
    }
  }

  #finish(fault: Fault | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.over(fault);
  }

  #tooLarge(): Fault {
    return new Fault(
      'frame_too_large',
      `${this.#server} answered with more than ${this.#limitBytes} bytes; the call did run. Raise limits.frameBytes to accept it`,
      { server: this.#server, dispatched: 'yes' },
    );
  }
}

/** A longer id does not fit into the headers of a request. */
const longestIdBytes = 4_096;

/**
 * An event's id as the value of `Last-Event-ID`: its UTF-8 bytes. Undefined if it is empty, which means
 * that there is no place to come back to, or cannot stand in a header.
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
