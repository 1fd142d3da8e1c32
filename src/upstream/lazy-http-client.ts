// The HTTP client, loaded when it is first needed: most hosts have no remote server, and loading it
// costs more time and memory than everything else at the start. What is sent meanwhile waits for it,
// and can still be called off; nothing has been sent before it is there.

import type { HttpClient, HttpInFlight, HttpListener, HttpRequest } from './http-client.ts';

export class LazyHttpClient implements HttpClient {
  #client: HttpClient | undefined;
  #loading: Promise<HttpClient> | undefined;
  #isClosed = false;

  send(request: HttpRequest, listener: HttpListener): HttpInFlight {
    if (this.#client) return this.#client.send(request, listener);
    let inFlight: HttpInFlight | undefined;
    let isAborted = false;
    void this.#load().then((client) => {
      if (!isAborted && !this.#isClosed) inFlight = client.send(request, listener);
    });
    return {
      abort() {
        isAborted = true;
        inFlight?.abort();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const client = await this.#loading;
    await client?.[Symbol.asyncDispose]();
  }

  #load(): Promise<HttpClient> {
    this.#loading ??= import('./http-client.ts').then(({ createHttpClient }) => {
      this.#client = createHttpClient();
      return this.#client;
    });
    return this.#loading;
  }
}
