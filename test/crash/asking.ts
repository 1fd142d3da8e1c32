// A client of the gateway, of the modern era and as plain as can be. A gateway that dies under it makes
// it throw `Gone`, which is no failure of a call: nobody was left to answer.

import { Agent, request } from 'node:http';

// biome-ignore lint/suspicious/noExplicitAny: a check looks into it as it likes
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Json;
}

/** The connection broke or was refused. */
export class Gone extends Error {
  override readonly name = 'Gone';
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'crashtest', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export class Client implements Disposable {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #url: string;
  readonly #token: string | null;
  #id = 0;

  constructor(url: string, token: string | null) {
    this.#url = url;
    this.#token = token;
  }

  tools(): Promise<Answer> {
    return this.ask('tools/list');
  }

  /** What the tool answers; throws unless it is a result that is no error. */
  async call(name: string, args: object = {}): Promise<Json> {
    const { status, text, json } = await this.ask('tools/call', { name, arguments: args });
    const isDone = status === 200 && json?.result !== undefined && json.result.isError !== true;
    if (!isDone) throw new FailedCall(`${name} answered ${status} ${text.slice(0, 600)}`);
    return json.result;
  }

  /** The whole state of the gateway, as it tells it itself. */
  async status(): Promise<Json> {
    const args = { render: 'json', detail: 'full' };
    const { content, structuredContent } = await this.call('holdfast__health_snapshot', args);
    return (structuredContent ?? JSON.parse(content[0].text)).status;
  }

  ask(method: string, params: object = {}, token = this.#token): Promise<Answer> {
    this.#id += 1;
    const body = { jsonrpc: '2.0', id: this.#id, method, params: { ...params, _meta: meta } };
    const name = 'name' in params ? { 'mcp-name': String(params.name) } : {};
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...name,
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(new Gone(error.message));
      const sent = request(
        this.#url,
        { method: 'POST', headers, agent: this.#agent },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', fail);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            resolve({ status: response.statusCode ?? 0, text, json: messageIn(text) });
          });
        },
      );
      sent.on('error', fail);
      sent.end(JSON.stringify(body));
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

export class FailedCall extends Error {
  override readonly name = 'FailedCall';
}

/** The message of a body, or the last one of a stream. */
function messageIn(text: string): Json {
  if (text.startsWith('{')) return JSON.parse(text);
  const events = text.split('\n').filter((line) => line.startsWith('data: {'));
  return JSON.parse(events.at(-1)?.slice('data: '.length) ?? 'null');
}
