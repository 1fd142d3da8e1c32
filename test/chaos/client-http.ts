// A client of the gateway over HTTP, in either era. It reads every message of every response, so that
// a second answer is seen too. In the modern era closing the response cancels the call; in the older
// one the session outlives its connections, and a notification cancels.

import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { CallBook, type OpenCall } from './call-book.ts';
import { type Client, within } from './client.ts';
import {
  type Era,
  helloParams,
  legacyHeaders,
  modernHeaders,
  notificationFrame,
  requestFrame,
} from './dialects.ts';
import type { AnswerSeen, History } from './history.ts';
import type { Order } from './order.ts';
import { OwnRoots } from './roots.ts';
import type { Message } from './seen.ts';
import type { Tally } from './tally.ts';

export interface HttpClientOptions {
  readonly url: string;
  readonly era: Era;
  readonly history: History;
  readonly tally: Tally;
  /** What it says that it can do; with `roots`, it has some of its own. */
  readonly capabilities?: object;
  /** Resolves when it answers, if it is asked for them; at once if this is not given. */
  readonly rootsReady?: () => Promise<unknown>;
}

interface Sent {
  readonly method?: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

export class HttpClient implements Client {
  readonly #url: string;
  readonly #era: Era;
  readonly #tally: Tally;
  readonly #book: CallBook;
  readonly #capabilities: object;
  readonly #roots: OwnRoots | undefined;
  readonly #requests = new Set<ClientRequest>();
  #agent = new Agent({ keepAlive: true });
  #session: string | undefined;

  constructor(options: HttpClientOptions) {
    const { url, era, history, tally, capabilities = {} } = options;
    const { rootsReady = async () => {} } = options;
    this.#url = url;
    this.#era = era;
    this.#tally = tally;
    this.#capabilities = capabilities;
    this.#book = new CallBook(history, tally, era, capabilities);
    // In the modern era it would be asked in its calls, and only by a server that it calls.
    const send = (frame: string) => this.#reply(frame);
    const hasRoots = era === 'legacy' && 'roots' in capabilities;
    this.#roots = hasRoots ? new OwnRoots({ history, ready: rootsReady, send }) : undefined;
  }

  /** Resolves when it was asked for its roots; never if it has none. */
  get asked(): Promise<void> {
    return this.#roots?.asked ?? new Promise(() => {});
  }

  async open(): Promise<void> {
    if (this.#era === 'modern') return;
    const params = { ...helloParams, capabilities: this.#capabilities };
    const body = requestFrame('legacy', 0, 'initialize', params);
    const response = await this.#ask({ headers: legacyHeaders(), body });
    this.#session = String(response.headers['mcp-session-id']);
    await this.#tell('notifications/initialized');
    this.#listen();
  }

  async call(order: Order): Promise<AnswerSeen | undefined> {
    const call = this.#book.begin(order);
    const headers = this.#headers('tools/call', `${order.server}__${order.tool}`);
    const sent = this.#send({ headers, body: call.frame }, (response) =>
      this.#read(response, call),
    );
    sent.on('error', () => this.#book.cut([call]));
    const { cancelAfterMs } = order;
    if (cancelAfterMs === undefined) return await call.settled;
    await within(cancelAfterMs, call.settled);
    if (!this.#book.cancel(call)) return await call.settled;
    if (this.#era === 'modern') sent.destroy();
    else await this.#tell('notifications/cancelled', { requestId: call.id }).catch(() => {});
    return undefined;
  }

  async list(): Promise<void> {
    const body = requestFrame(this.#era, 'list', 'tools/list');
    // Whoever vanishes meanwhile does not get it.
    await this.#ask({ headers: this.#headers('tools/list'), body }).catch(() => {});
  }

  async vanish(): Promise<void> {
    this.#book.gone('client vanishes');
    this.#breakOff();
    this.#agent = new Agent({ keepAlive: true });
    if (this.#era === 'legacy') this.#listen();
  }

  async leave(boundMs: number): Promise<void> {
    await within(boundMs, Promise.all(this.#book.openCalls.map(({ settled }) => settled)));
    if (this.#session !== undefined) {
      await this.#ask({ method: 'DELETE', headers: legacyHeaders(this.#session) });
    }
    this.#book.end();
    this.#breakOff();
  }

  #breakOff(): void {
    for (const sent of this.#requests) sent.destroy();
    this.#agent.destroy();
  }

  /** Messages that belong to no request; an answer that strays there is seen, too. */
  #listen(): void {
    const { accept: _any, ...headers } = this.#headers('');
    const sent = this.#send(
      { method: 'GET', headers: { ...headers, accept: 'text/event-stream' } },
      (response) => readMessages(response, (message) => this.#heard(message)),
    );
    sent.on('error', () => {}); // it is open for strays only
  }

  #read(response: IncomingMessage, call: OpenCall): void {
    const { readAfterMs } = call.order;
    if (readAfterMs !== undefined) {
      response.pause();
      this.#tally.happened('slow reader');
      setTimeout(() => response.resume(), readAfterMs);
    }
    const { statusCode = 0 } = response;
    readMessages(
      response,
      (message) => this.#heard(message),
      () => {
        if (statusCode >= 400 && this.#book.isOpen(call)) this.#book.refused(call);
        else this.#book.cut([call]);
      },
    );
  }

  #heard(message: Message): void {
    this.#roots?.heard(message);
    this.#book.heard(message);
  }

  /** True if the gateway took it. */
  async #reply(body: string): Promise<boolean> {
    const { statusCode = 0 } = await this.#ask({ headers: this.#headers(''), body });
    return statusCode < 300;
  }

  #headers(method: string, name?: string): Record<string, string> {
    return this.#era === 'modern' ? modernHeaders(method, name) : legacyHeaders(this.#session);
  }

  async #tell(method: string, params: object = {}): Promise<void> {
    await this.#ask({ headers: this.#headers(method), body: notificationFrame(method, params) });
  }

  /** The response, when all of it has come. */
  #ask(options: Sent): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = this.#send(options, (response) => {
        response.on('end', () => resolve(response)).on('error', reject);
        response.resume();
      });
      sent.on('error', reject);
    });
  }

  #send({ method = 'POST', headers, body }: Sent, heard: (response: IncomingMessage) => void) {
    const sent = request(this.#url, { method, headers, agent: this.#agent }, heard);
    this.#requests.add(sent);
    sent.on('close', () => this.#requests.delete(sent));
    return sent.end(body);
  }
}

/** Every message of a response, whether it comes alone or in a stream of events. */
function readMessages(
  response: IncomingMessage,
  heard: (message: Message) => void,
  ended = () => {},
): void {
  const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    if (!isStream) return;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) hearBlock(block, heard);
  });
  response.on('end', () => {
    if (!isStream && text.startsWith('{')) heard(JSON.parse(text));
  });
  response.on('error', () => {}); // it is broken off; "close" follows
  response.on('close', ended);
}

function hearBlock(block: string, heard: (message: Message) => void): void {
  const lines = block.split('\n').filter((line) => line.startsWith('data:'));
  const data = lines.map((line) => line.slice(5).trimStart()).join('\n');
  if (data !== '') heard(JSON.parse(data));
}
