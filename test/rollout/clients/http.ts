// Clients over HTTP, as bare as they can be: of either era, on connections that are kept or with a new one for each
// request. A response without the answer is a failure of the call, whatever its status is.

import { Agent, type IncomingMessage, request } from 'node:http';
import { legacyHello } from '../../support/gateway-stdio-client.ts';
import { legacyHeaders, modernBody, modernHeaders } from '../../support/http-front.ts';
import type { History, Order } from '../history.ts';
import type { LoadClient } from './load-client.ts';

interface Response {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: whatever the gateway has sent
  readonly messages: readonly any[];
}

class BareClient implements LoadClient {
  readonly name: string;
  readonly #url: URL;
  readonly #agent: Agent;
  readonly #history: History;
  /** Of the legacy era. */
  #session: string | undefined;
  #id = 0;

  constructor(name: string, url: string, history: History, keepAlive: boolean) {
    this.name = name;
    this.#url = new URL(url);
    this.#history = history;
    this.#agent = new Agent({ keepAlive });
  }

  async initialize(): Promise<void> {
    this.#history.hello(this.name);
    const { headers } = await this.#post(legacyHeaders(), legacyHello());
    this.#session = String(headers['mcp-session-id']);
    const method = 'notifications/initialized';
    await this.#post(legacyHeaders(this.#session), { jsonrpc: '2.0', method });
  }

  async call({ tool, args }: Order): Promise<unknown> {
    const id = ++this.#id;
    const params = { name: tool, arguments: args };
    const response =
      this.#session === undefined
        ? await this.#post(modernHeaders('tools/call', tool), modernBody('tools/call', params, id))
        : await this.#post(legacyHeaders(this.#session), {
            jsonrpc: '2.0',
            id,
            method: 'tools/call',
            params,
          });
    const answers = response.messages.filter((one) => one.id === id && one.method === undefined);
    const [answer] = answers;
    if (answers.length !== 1 || answer.result === undefined) {
      throw new Error(`HTTP ${response.status}: ${JSON.stringify(response.messages)}`);
    }
    return answer.result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
  }

  #post(headers: Readonly<Record<string, string>>, body: unknown): Promise<Response> {
    const { hostname, port } = this.#url;
    const agent = this.#agent;
    return new Promise((resolve, reject) => {
      const options = { hostname, port, method: 'POST', path: '/mcp', headers, agent };
      const sent = request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode: status = 0, headers } = response;
          const messages = messagesIn(Buffer.concat(chunks).toString());
          resolve({ status, headers, messages });
        });
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(body));
    });
  }
}

export function modernClient(name: string, url: string, history: History, keepAlive: boolean) {
  return new BareClient(name, url, history, keepAlive);
}

export async function legacyClient(
  name: string,
  url: string,
  history: History,
  keepAlive: boolean,
) {
  const client = new BareClient(name, url, history, keepAlive);
  await client.initialize();
  return client;
}

function messagesIn(text: string): Response['messages'] {
  if (text === '') return [];
  if (text.startsWith('{')) return [JSON.parse(text)];
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'));
  return lines.map((line) => JSON.parse(line.slice('data: '.length)));
}
