// Clients of a gateway that listens, as bare as HTTP lets them be: any header, any body, whole
// answers or streams, and a connection that can be cut at any moment. Each has sockets of its own.

import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Json } from './gateway-stdio-client.ts';
import {
  type Answered,
  type AskOptions,
  envelope,
  legacyHeaders,
  modernHeaders,
  Streaming,
} from './http-front.ts';

/** `json` is the message, or the last one of a stream, which is the answer. */
export interface Answer extends Answered {
  /** Of the socket on which it came. */
  readonly localPort: number;
}

/** A request that can be given up. */
export interface Pending {
  readonly answered: Promise<Answer>;
  /** Closes the socket under it. */
  readonly cut: () => void;
}

export class HttpClient implements Disposable {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #address: { readonly host: string; readonly port: number };
  readonly #headers: Readonly<Record<string, string>>;

  /** `headers` go with every request, unless it has its own. */
  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    const { hostname, port } = new URL(url);
    this.#address = { host: hostname, port: Number(port) };
    this.#headers = headers;
  }

  /** The whole answer. */
  ask(options: AskOptions): Promise<Answer> {
    return this.begin(options).answered;
  }

  begin(options: AskOptions): Pending {
    let sent: ClientRequest | undefined;
    const answered = new Promise<Answer>((resolve, reject) => {
      sent = this.#send(options, (response) => {
        const chunks: Buffer[] = [];
        const { localPort = 0 } = response.socket;
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          resolve(answerOf(response, Buffer.concat(chunks).toString(), localPort));
        });
      });
      sent.on('error', reject);
    });
    return { answered, cut: () => sent?.destroy() };
  }

  /** The answer as soon as it begins. */
  open(options: AskOptions): Promise<Streaming> {
    return new Promise((resolve, reject) => {
      const sent = this.#send(options, (response) => resolve(new Streaming(response)));
      sent.on('error', reject);
    });
  }

  /** One request of the modern era. */
  modern(method: string, params: ModernParams = {}, id: unknown = 1): Promise<Answer> {
    return this.ask(modernRequest(method, params, id));
  }

  /** What a tool answers, as JSON-RPC. */
  async call(name: string, args: object = {}, meta: object = {}): Promise<Json> {
    return (await this.modern('tools/call', { name, arguments: args, _meta: meta })).json;
  }

  /** Begins a legacy session of this revision. */
  async session(protocolVersion = '2025-11-25'): Promise<LegacyClient> {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } };
    const { headers } = await this.ask({
      headers: legacyHeaders(),
      body: { jsonrpc: '2.0', id: 0, method: 'initialize', params },
    });
    return new LegacyClient(this, String(headers['mcp-session-id']), protocolVersion);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #send(options: AskOptions, heard: (response: IncomingMessage) => void): ClientRequest {
    const { method = 'POST', path = '/mcp', headers = {}, body } = options;
    const isText = typeof body === 'string' || Buffer.isBuffer(body) || body === undefined;
    const sent = request(
      {
        ...this.#address,
        method,
        path,
        headers: { ...this.#headers, ...headers },
        agent: this.#agent,
      },
      heard,
    );
    return sent.end(isText ? body : JSON.stringify(body));
  }
}

/** The parameters of any method; these are looked at. */
export interface ModernParams {
  readonly name?: string;
  readonly uri?: string;
  readonly _meta?: object;
  readonly [key: string]: unknown;
}

/** A modern request with the headers that belong to it. */
export function modernRequest(method: string, params: ModernParams = {}, id: unknown = 1) {
  const body = {
    jsonrpc: '2.0',
    id,
    method,
    params: { ...params, _meta: { ...envelope, ...params._meta } },
  };
  return { headers: modernHeaders(method, params.name ?? params.uri), body };
}

/** One session, by its id. */
export class LegacyClient {
  readonly id: string;
  readonly #client: HttpClient;
  readonly #version: string;

  constructor(client: HttpClient, id: string, version: string) {
    this.#client = client;
    this.id = id;
    this.#version = version;
  }

  get headers(): Record<string, string> {
    return { ...legacyHeaders(this.id, this.#version) };
  }

  request(method: string, params: object = {}, id: unknown = 1) {
    return { headers: this.headers, body: { jsonrpc: '2.0', id, method, params } };
  }

  ask(method: string, params: object = {}, id: unknown = 1): Promise<Answer> {
    return this.#client.ask(this.request(method, params, id));
  }

  begin(method: string, params: object = {}, id: unknown = 1): Pending {
    return this.#client.begin(this.request(method, params, id));
  }

  /** What a tool answers, as JSON-RPC. */
  async call(name: string, args: object = {}, id: unknown = 1): Promise<Json> {
    return (await this.ask('tools/call', { name, arguments: args }, id)).json;
  }

  listen(): Promise<Streaming> {
    return this.#client.open({ method: 'GET', headers: this.headers });
  }

  delete(): Promise<Answer> {
    return this.#client.ask({ method: 'DELETE', headers: this.headers });
  }
}

function lastMessage(text: string): Json {
  const data = text.split('\n').filter((line) => line.startsWith('data: {'));
  return JSON.parse(data.at(-1)?.slice(6) ?? 'null');
}

function answerOf(response: IncomingMessage, text: string, localPort: number): Answer {
  const type = response.headers['content-type'];
  const isJson = type === 'application/json' && text !== '';
  const json = isJson
    ? JSON.parse(text)
    : type === 'text/event-stream'
      ? lastMessage(text)
      : undefined;
  const { statusCode: status = 0, headers } = response;
  return { status, headers, text, json, localPort };
}
