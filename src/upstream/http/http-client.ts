// The HTTP client, reduced to what an exchange needs: was the request handed to a socket, what was
// the response, and did it break off. The simulation replaces it. Redirects are not followed: a
// moved server must be changed in the config, or a header with a credential could follow it to
// another origin.

import { Agent } from 'undici';

export interface HttpRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
}

export interface HttpListener {
  /** A connection is open and the request is being written: from now on it may have arrived. */
  sent(): void;
  response(status: number, headers: HttpHeaders): void;
  data(chunk: Buffer): void;
  ended(): void;
  /** Broke off before the end. No further event follows. */
  failed(error: Error): void;
}

/** Lower-case names; a repeated header has its last value. */
export type HttpHeaders = ReadonlyMap<string, string>;

export interface HttpInFlight {
  /** Closes the exchange; nothing is reported after that. */
  abort(): void;
}

export interface HttpClient extends AsyncDisposable {
  send(request: HttpRequest, listener: HttpListener): HttpInFlight;
}

const connectMs = 5_000;

export function createHttpClient(): HttpClient {
  // Answers may take as long as a tool runs: calls have their own deadlines, sockets have none.
  const agent = new Agent({
    connect: { timeout: connectMs },
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 4_000,
  });
  return {
    send: (request, listener) => send(agent, request, listener),
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

function send(agent: Agent, request: HttpRequest, listener: HttpListener): HttpInFlight {
  let isOver = false;
  let stop: (() => void) | undefined;
  const { url, method, headers, body } = request;
  agent.dispatch(
    { origin: url.origin, path: url.pathname + url.search, method, headers: { ...headers }, body },
    {
      onRequestStart(controller) {
        stop = () => controller.abort(new Error('the exchange was ended'));
        if (isOver) stop();
        else listener.sent();
      },
      onResponseStart(_controller, status, responseHeaders) {
        if (!isOver) listener.response(status, headersFrom(responseHeaders));
      },
      onResponseData(_controller, chunk) {
        if (!isOver) listener.data(chunk);
      },
      onResponseEnd() {
        if (isOver) return;
        isOver = true;
        listener.ended();
      },
      onResponseError(_controller, error) {
        if (isOver) return;
        isOver = true;
        listener.failed(error);
      },
    },
  );
  return {
    abort() {
      if (isOver) return;
      isOver = true;
      stop?.();
    },
  };
}

function headersFrom(raw: Readonly<Record<string, string | string[] | undefined>>): HttpHeaders {
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(raw)) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) headers.set(name.toLowerCase(), last);
  }
  return headers;
}
