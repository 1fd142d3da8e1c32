// A raw client over Streamable HTTP. A legacy one keeps a GET stream open, on which it is asked and
// hears of changed lists; a modern one hears nothing unasked, which is enough for reading lists.

import {
  answerTo,
  type ClientKind,
  ErrorAnswer,
  identity,
  isListChange,
  legacyVersion,
  modernVersion,
  type Peer,
  paramsFor,
  readMessage,
} from './peer.ts';

export class HttpPeer implements Peer {
  readonly #url: string;
  readonly #kind: ClientKind;
  readonly #rootUri: string;
  readonly #listeners: (() => void)[] = [];
  readonly #stop = new AbortController();
  #session: string | undefined;
  #nextId = 1;

  constructor(url: string, kind: ClientKind, rootUri: string) {
    this.#url = url;
    this.#kind = kind;
    this.#rootUri = rootUri;
  }

  async ask(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const id = this.#nextId++;
    const request = { jsonrpc: '2.0', id, method, params: paramsFor(this.#kind, params) };
    const response = await this.#post(request, method);
    this.#session ??= response.headers.get('mcp-session-id') ?? undefined;
    const texts = isStream(response) ? eventsOf(response) : [await response.text()];
    for await (const text of texts) {
      const message = readMessage(text);
      if (message?.id !== id || message.method !== undefined) await this.#hear(text);
      else if (message.result !== undefined) return message.result;
      else throw new ErrorAnswer(message.error);
    }
    throw new Error(`${method} was answered by ${response.status} and no message`);
  }

  async notify(method: string): Promise<void> {
    await (await this.#post({ jsonrpc: '2.0', method }, method)).text();
    if (method === 'notifications/initialized') this.#listen().catch(() => {});
  }

  onListChanged(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    if (this.#session === undefined) return;
    const response = await fetch(this.#url, { method: 'DELETE', headers: this.#headers() });
    await response.text();
  }

  /** Ends with the peer. */
  async #listen(): Promise<void> {
    const headers = { ...this.#headers(), accept: 'text/event-stream' };
    const response = await fetch(this.#url, { headers, signal: this.#stop.signal });
    for await (const text of eventsOf(response)) await this.#hear(text);
  }

  async #hear(text: string): Promise<void> {
    const message = readMessage(text);
    if (message?.method === undefined) return;
    if (isListChange(message.method)) for (const listener of this.#listeners) listener();
    if (message.id === undefined) return;
    const answer = answerTo(message.method, this.#kind, this.#rootUri);
    const response = await this.#post({ jsonrpc: '2.0', id: message.id, ...answer }, undefined);
    await response.text();
  }

  #post(message: object, method: string | undefined): Promise<Response> {
    const headers = {
      ...this.#headers(),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(this.#kind.era === 'modern' && method !== undefined ? { 'mcp-method': method } : {}),
    };
    return fetch(this.#url, { method: 'POST', headers, body: JSON.stringify(message) });
  }

  #headers(): Record<string, string> {
    const version = this.#kind.era === 'modern' ? modernVersion : legacyVersion;
    return {
      'mcp-protocol-version': version,
      'user-agent': identity.name,
      ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session }),
    };
  }
}

function isStream(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
}

/** The data of each event; the gateway writes each on one line. */
async function* eventsOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim();
  }
}
