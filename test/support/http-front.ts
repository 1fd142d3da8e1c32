// A real HTTP front before a fake gateway, and a client that can do everything wrong: any header,
// half a body, a connection closed at any moment, a stream read event by event.

import { Agent, type IncomingMessage, request } from 'node:http';
import { onTestFinished } from 'vitest';
import type { Tokens } from '../../src/downstream/http/access/token-table.ts';
import { tokenAuthenticator } from '../../src/downstream/http/access/tokens.ts';
import { type HttpOptions, startHttp } from '../../src/downstream/http/listener.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { type Asked, FakeFront } from './fake-front.ts';
import { until } from './until.ts';

export const modernHeaders = (method: string, name?: string) => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name }),
});

export const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export const modernBody = (method: string, params: object = {}, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params: { ...params, _meta: envelope },
});

export const legacyHeaders = (session?: string, version = '2025-11-25') => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': version,
  ...(session === undefined ? {} : { 'mcp-session-id': session }),
});

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  readonly json: any;
}

export interface AskOptions {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Event {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly retry: string | undefined;
  readonly data: string | undefined;
  readonly comment: string | undefined;
}

/** A response that is read while it comes. */
export class Streaming {
  readonly response: IncomingMessage;
  readonly events: Event[] = [];
  isEnded = false;
  #text = '';
  #read = 0;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => this.#push(chunk));
    response.on('close', () => {
      this.isEnded = true;
    });
    response.on('error', () => {
      this.isEnded = true;
    });
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  /** The next event that was not read yet. */
  async next(): Promise<Event> {
    await until(() => this.events.length > this.#read || this.isEnded, 'an event on the stream');
    const event = this.events[this.#read];
    this.#read += 1;
    if (event === undefined) throw new Error('the stream has ended');
    return event;
  }

  /** The next event that carries a message, parsed. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  async message(): Promise<any> {
    let event = await this.next();
    while (!event.data) event = await this.next();
    return JSON.parse(event.data);
  }

  async ended(): Promise<void> {
    await until(() => this.isEnded, 'the stream to end');
  }

  drop(): void {
    this.response.destroy();
  }

  #push(chunk: string): void {
    this.#text += chunk;
    const blocks = this.#text.split('\n\n');
    this.#text = blocks.pop() ?? '';
    for (const block of blocks) this.events.push(eventFrom(block));
  }
}

function eventFrom(block: string): Event {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
  }
  return {
    event: fields.get('event'),
    id: fields.get('id'),
    retry: fields.get('retry'),
    data: fields.get('data'),
    comment: fields.get(''),
  };
}

export interface FrontOptions extends Partial<HttpOptions> {
  /** Instead of another authenticator. */
  readonly tokens?: Tokens;
}

export async function httpFront({ tokens, ...options }: FrontOptions = {}) {
  const front = new FakeFront();
  const reports: string[] = [];
  const http = await startHttp({
    front,
    clock: systemClock,
    identity: { name: 'holdfast', version: '0' },
    report: (line) => reports.push(line),
    authenticator: tokens && tokenAuthenticator(tokens),
    ...options,
    config: {
      listen: '127.0.0.1:0',
      auth: 'none',
      allowedHosts: [],
      allowedOrigins: [],
      ...options.config,
    },
  });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(async () => {
    agent.destroy();
    await http.close();
  });
  const { port } = http.address;

  function send(options: AskOptions, onResponse: (response: IncomingMessage) => void) {
    const { method = 'POST', path = '/mcp', headers = {}, body } = options;
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const req = request({ host: '127.0.0.1', port, method, path, headers, agent }, onResponse);
    req.end(text);
    return req;
  }

  /** The whole answer. */
  function ask(options: AskOptions): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const req = send(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = response.headers['content-type'] === 'application/json';
          const json = isJson && text !== '' ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
        });
      });
      req.on('error', reject);
    });
  }

  /** The answer as soon as it begins. */
  function stream(options: AskOptions): Promise<Streaming> {
    return new Promise((resolve, reject) => {
      send(options, (response) => resolve(new Streaming(response))).on('error', reject);
    });
  }

  return {
    front,
    http,
    reports,
    port,
    send,
    ask,
    stream,
    modern: (method: string, params: { name?: string } = {}, id: unknown = 1) =>
      ask({ headers: modernHeaders(method, params.name), body: modernBody(method, params, id) }),
    /** A session of this revision; its id. */
    async initialize(protocolVersion = '2025-11-25', headers: Record<string, string> = {}) {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } };
      const answer = await ask({
        headers: { ...legacyHeaders(), ...headers },
        body: { jsonrpc: '2.0', id: 0, method: 'initialize', params },
      });
      return String(answer.headers['mcp-session-id']);
    },
    /** The request, once the gateway has it. */
    async arrived(method: string): Promise<Asked> {
      await until(() => front.asked.some((one) => one.method === method), `${method} to arrive`);
      return front.last(method);
    },
  };
}
