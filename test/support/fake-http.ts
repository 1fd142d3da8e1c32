// The HTTP edge without a network: a test sees every request that would have gone out and plays the
// server's part, byte by byte if it wants to. Nothing is reported after an abort, as the contract of
// the real one says.

import type {
  HttpClient,
  HttpInFlight,
  HttpListener,
  HttpRequest,
} from '../../src/upstream/http/http-client.ts';

type Headers = Readonly<Record<string, string>>;

export class FakeRequest implements HttpInFlight {
  readonly request: HttpRequest;
  readonly #listener: HttpListener;
  isAborted = false;
  #isOver = false;

  constructor(request: HttpRequest, listener: HttpListener) {
    this.request = request;
    this.#listener = listener;
  }

  abort(): void {
    if (!this.#isOver) this.isAborted = true;
    this.#isOver = true;
  }

  get body(): Record<string, unknown> {
    return JSON.parse(String(this.request.body)) as Record<string, unknown>;
  }

  /** The JSON-RPC method, or the HTTP method where there is no body. */
  get method(): string {
    return this.request.body === null
      ? this.request.method
      : String(this.body['method'] ?? 'answer');
  }

  get headers(): Headers {
    return this.request.headers;
  }

  /** A connection is there and the request is being written. */
  sent(): this {
    if (!this.#isOver) this.#listener.sent();
    return this;
  }

  respond(status: number, headers: Headers = {}): this {
    if (!this.#isOver) this.#listener.response(status, new Map(Object.entries(headers)));
    return this;
  }

  data(text: string | Buffer): this {
    if (!this.#isOver) this.#listener.data(Buffer.from(text));
    return this;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.ended();
  }

  break(code: string): void {
    this.fail(Object.assign(new Error('the network failed'), { code }));
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.failed(error);
  }

  /** A whole answer as JSON. */
  json(
    body: unknown,
    { status = 200, headers = {} }: { status?: number; headers?: Headers } = {},
  ): void {
    this.sent().respond(status, { 'content-type': 'application/json', ...headers });
    this.data(typeof body === 'string' ? body : JSON.stringify(body)).end();
  }

  /** An answer to this very request. */
  result(result: unknown, headers: Headers = {}): void {
    this.json({ jsonrpc: '2.0', id: this.body['id'], result }, { headers });
  }

  /** A bare status. */
  status(status: number, headers: Headers = {}): void {
    this.sent().respond(status, headers).end();
  }

  /** Begins a stream of events. */
  stream(): this {
    return this.sent().respond(200, { 'content-type': 'text/event-stream' });
  }

  event(message: unknown): this {
    return this.data(`data: ${JSON.stringify(message)}\n\n`);
  }
}

export class FakeHttp implements HttpClient {
  readonly requests: FakeRequest[] = [];

  send(request: HttpRequest, listener: HttpListener): HttpInFlight {
    const fake = new FakeRequest(request, listener);
    this.requests.push(fake);
    return fake;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  get last(): FakeRequest {
    const request = this.requests.at(-1);
    if (!request) throw new Error('nothing was sent');
    return request;
  }

  /** The methods of all requests, in order. */
  get methods(): readonly string[] {
    return this.requests.map(({ method }) => method);
  }

  /** The latest request of a method. */
  find(method: string): FakeRequest {
    const request = this.requests.findLast((one) => one.method === method);
    if (!request) throw new Error(`no ${method} was sent, only ${this.methods.join(', ')}`);
    return request;
  }
}
