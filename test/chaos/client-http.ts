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
import { type AnswerSeen, type History, monotonicMs } from './history.ts';
import { readMessages } from './message-stream.ts';
import type { Order } from './order.ts';
import { type Identity, MarkReader } from './principals/identity.ts';
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
  /** With a token of its own: then its streams and all that it is told are noted. */
  readonly identity?: Identity;
  /** Resolves when it answers, if it is asked for them; at once if this is not given. */
  readonly rootsReady?: () => Promise<unknown>;
}

interface Sent {
  readonly method?: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

const maxOpenings = 300;
const openingMs = 100;
const unansweredMs = 60_000;

export class HttpClient implements Client {
  readonly #url: string;
  readonly #era: Era;
  readonly #tally: Tally;
  readonly #book: CallBook;
  readonly #history: History;
  readonly #capabilities: object;
  readonly #roots: OwnRoots | undefined;
  readonly #identity: Identity | undefined;
  readonly #marks: MarkReader | undefined;
  readonly #requests = new Set<ClientRequest>();
  #agent = new Agent({ keepAlive: true });
  #session: string | undefined;
  /** How often this client has broken its connections itself. */
  #breaks = 0;
  #isLeaving = false;

  constructor(options: HttpClientOptions) {
    const { url, era, history, tally, capabilities = {}, identity } = options;
    const { rootsReady = async () => {} } = options;
    this.#url = url;
    this.#history = history;
    this.#era = era;
    this.#tally = tally;
    this.#capabilities = capabilities;
    this.#identity = identity;
    this.#marks = identity === undefined ? undefined : new MarkReader(history, identity);
    this.#book = new CallBook(history, tally, era, capabilities, identity);
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
    if (this.#era === 'modern') {
      if (this.#marks !== undefined) this.#subscribe();
      return;
    }
    const params = { ...helloParams, capabilities: this.#capabilities };
    const body = requestFrame('legacy', 0, 'initialize', params);
    let session: string | string[] | undefined;
    // Its role may be away at the moment: then there is nothing at its address.
    for (let tries = 0; session === undefined && tries < maxOpenings; tries += 1) {
      if (tries > 0) await within(openingMs, new Promise(() => {}));
      const response = await this.#askAgain({ headers: this.#headers('initialize'), body });
      session = response?.headers['mcp-session-id'];
    }
    this.#session = String(session);
    await this.#tell('notifications/initialized');
    this.#listen();
  }

  async call(order: Order): Promise<AnswerSeen | undefined> {
    const since = monotonicMs();
    const call = this.#book.begin(order);
    const headers = this.#headers('tools/call', this.#book.nameOf(order));
    const sent = this.#send({ headers, body: call.frame }, (response) =>
      this.#read(response, call, since),
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
    const since = monotonicMs();
    // Whoever vanishes meanwhile does not get it.
    await this.#inTime({ headers: this.#headers('tools/list'), body }, since).catch(() => {});
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
      this.#isLeaving = true;
      await this.#askAgain({ method: 'DELETE', headers: this.#headers('') });
    }
    this.#book.end();
    this.#breakOff();
  }

  #breakOff(): void {
    this.#breaks += 1;
    for (const sent of this.#requests) sent.destroy();
    this.#agent.destroy();
  }

  /** Messages that belong to no request; an answer that strays there is seen, too. */
  #listen(): void {
    const { accept: _any, ...headers } = this.#headers('');
    const asked = { method: 'GET', headers: { ...headers, accept: 'text/event-stream' } };
    this.#keepOpen(asked, this.#breaks);
  }

  /** The same in the modern era, where somebody notes how long it stays open. */
  #subscribe(): void {
    const notifications = { toolsListChanged: true };
    const body = requestFrame('modern', 'listen', 'subscriptions/listen', { notifications });
    this.#keepOpen({ headers: this.#headers('subscriptions/listen'), body }, this.#breaks);
  }

  /** Where the gateway ends it, as in a rollout, the client comes back with the last id that it has read. */
  #keepOpen(asked: Sent, breaks: number, lastId?: string): void {
    const stream = this.#marks?.stream();
    let read = lastId;
    const again = (id: string | undefined) => {
      if (breaks !== this.#breaks || this.#isLeaving) return;
      setTimeout(() => {
        if (breaks === this.#breaks && !this.#isLeaving) this.#keepOpen(asked, breaks, id);
      }, openingMs);
    };
    const own = lastId === undefined ? {} : { 'last-event-id': lastId };
    const sent = this.#send({ ...asked, headers: { ...asked.headers, ...own } }, (response) => {
      const { statusCode = 0 } = response;
      if (statusCode === 200) stream?.open();
      readMessages(
        response,
        (message) => {
          if (statusCode === 200) this.#strayed(message);
        },
        () => {
          stream?.closed();
          if (statusCode === 200) again(read);
          // The instance of that id has been killed. Whoever is refused without one stays away.
          else if (lastId !== undefined) again(undefined);
        },
        (id) => {
          read = id;
        },
      );
    });
    sent.on('error', () => again(undefined)); // it is open for strays only
  }

  /** Undefined: there was no response for so long that there will be none. */
  async #inTime(options: Sent, since: number): Promise<IncomingMessage | undefined> {
    let response: IncomingMessage | undefined;
    const asked = this.#ask(options, since).then((one) => {
      response = one;
    });
    await within(unansweredMs, asked);
    return response;
  }

  /** Until there is a response; that there was none is noted. Undefined: this client has left. */
  async #askAgain(options: Sent): Promise<IncomingMessage | undefined> {
    for (let tries = 0; tries < maxOpenings; tries += 1) {
      const [since, breaks] = [monotonicMs(), this.#breaks];
      try {
        const response = await this.#inTime(options, since);
        if (response !== undefined) return response;
        this.#history.failed(since);
        return undefined;
      } catch {
        if (breaks === this.#breaks) this.#history.failed(since);
        await within(openingMs, new Promise(() => {}));
      }
    }
    return undefined;
  }

  #read(response: IncomingMessage, call: OpenCall, since: number): void {
    const { readAfterMs } = call.order;
    if (readAfterMs !== undefined) {
      response.pause();
      this.#book.unread(call);
      this.#tally.happened('slow reader');
      setTimeout(() => response.resume(), readAfterMs);
    }
    const { statusCode = 0 } = response;
    readMessages(
      response,
      (message) => this.#heard(message, since),
      () => {
        if (statusCode >= 400 && this.#book.isOpen(call)) this.#book.refused(call, statusCode);
        else this.#book.cut([call]);
      },
    );
  }

  /** On a stream that nobody's call opened. */
  #strayed(message: Message): void {
    this.#heard(message, monotonicMs() - strayMs);
  }

  #heard(message: Message, since: number): void {
    this.#marks?.read(message, since);
    // A refusal of the whole request, or the answer to the request that opened a stream.
    if (this.#identity !== undefined && typeof message.id !== 'number') return;
    this.#roots?.heard(message);
    this.#book.heard(message);
  }

  /** True if the gateway took it. */
  async #reply(body: string): Promise<boolean> {
    const { statusCode = 0 } = (await this.#askAgain({ headers: this.#headers(''), body })) ?? {};
    return statusCode > 0 && statusCode < 300;
  }

  #headers(method: string, name?: string): Record<string, string> {
    const own = this.#era === 'modern' ? modernHeaders(method, name) : legacyHeaders(this.#session);
    return { ...own, ...this.#identity?.headers };
  }

  async #tell(method: string, params: object = {}): Promise<void> {
    const body = notificationFrame(method, params);
    await this.#askAgain({ headers: this.#headers(method), body });
  }

  /** The response, when all of it has come; what it says is looked at for marks alone. */
  #ask(options: Sent, since = monotonicMs()): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = this.#send(options, (response) => {
        response.on('end', () => resolve(response)).on('error', reject);
        if (this.#marks === undefined) response.resume();
        else readMessages(response, (message) => this.#marks?.read(message, since));
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

/** A message on a standing stream was made no longer ago. */
const strayMs = 1000;
