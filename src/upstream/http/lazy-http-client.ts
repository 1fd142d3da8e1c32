// Loads the HTTP client when it is first needed: most hosts have no remote server, and loading it
// costs more time and memory than everything else at the start. Requests wait until it is loaded,
// and can still be cancelled; nothing has been sent before.

import { loadedOnce } from '../../kernel/loaded-once.ts';
import type { HttpClient, HttpInFlight, HttpListener, HttpRequest } from './http-client.ts';

export const loadHttpClient = loadedOnce(() => import('./http-client.ts'));

export class LazyHttpClient implements HttpClient {
  #client: HttpClient | undefined;
  #loading: Promise<HttpClient> | undefined;
  #isClosed = false;

  send(request: HttpRequest, listener: HttpListener): HttpInFlight {
    if (this.#client) return this.#client.send(request, listener);
    let inFlight: HttpInFlight | undefined;
    let isAborted = false;
    this.#load()
      .then((client) => {
        if (!isAborted && !this.#isClosed) inFlight = client.send(request, listener);
      })
      .catch((error: unknown) => {
        if (!isAborted) listener.failed(error instanceof Error ? error : new Error(String(error)));
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
    const client = await this.#loading?.catch(() => undefined);
    await client?.[Symbol.asyncDispose]();
  }

  #load(): Promise<HttpClient> {
    this.#loading ??= this.#create().catch((error: unknown) => {
      // Too many open files, perhaps: the next request tries again.
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #create(): Promise<HttpClient> {
    const { createHttpClient } = await loadHttpClient();
    this.#client = createHttpClient();
    return this.#client;
  }
}
