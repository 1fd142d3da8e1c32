// A client that writes and reads JSON as text, for what an SDK would hide: spellings, members and
// content that no revision knows, its own ids and tokens, and the shape of results. It speaks either
// era, says what it is told to say, and answers nothing by itself.

import type { Era } from '../../../src/wire/eras.ts';
import { envelopeKeys, modernVersion } from '../../../src/wire/eras.ts';
import type { Door } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import { abilities, identity, type Json } from './client.ts';
import { openWire, type RawWire } from './raw-wire.ts';

/** A message that came in: as text, and what it says. */
export interface Heard {
  readonly text: string;
  readonly message: Json;
}

const declared = {
  ...abilities,
  roots: {},
  extensions: { ...abilities.extensions, 'io.modelcontextprotocol/tasks': {} },
};

export class RawClient implements AsyncDisposable {
  readonly era: Era;
  readonly heard: Heard[] = [];
  readonly #wire: RawWire;
  #session: string | undefined;

  private constructor(era: Era, door: Door) {
    this.era = era;
    this.#wire = openWire(door, (text) => {
      this.heard.push({ text, message: JSON.parse(text) as Json });
    });
  }

  static async connect(era: Era, door: Door): Promise<RawClient> {
    const client = new RawClient(era, door);
    if (era === 'legacy') await client.#initialize();
    return client;
  }

  /** Sends a request with members of `params` given as JSON text; resolves with its answer. */
  async request(
    id: string | number,
    method: string,
    members: Readonly<Record<string, string>> = {},
    meta: Json = {},
  ): Promise<Heard> {
    const params = this.#params(members, meta);
    const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"${method}","params":${params}}`;
    const already = this.heard.length;
    await this.#wire.send(text, this.#headers(method, members));
    const answer = () =>
      this.heard.slice(already).find(({ message }) => message['id'] === id && !message['method']);
    await until(() => answer() !== undefined, `${method} is answered`, 8_000);
    return answer() as Heard;
  }

  /** The result of a request that must not fail. */
  async result(...request: Parameters<RawClient['request']>): Promise<Json> {
    const { text, message } = await this.request(...request);
    if (message['result'] === undefined) throw new Error(`no result: ${text}`);
    return message['result'] as Json;
  }

  /** Answers a request of the server. */
  async respond(id: unknown, result: Json): Promise<void> {
    await this.#wire.send(JSON.stringify({ jsonrpc: '2.0', id, result }), this.#headers('', {}));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#session) await this.#wire.send('', { 'mcp-session-id': this.#session });
    await this.#wire.close();
  }

  async #initialize(): Promise<void> {
    const params = { protocolVersion: '2025-11-25', capabilities: declared, clientInfo: identity };
    const request = { jsonrpc: '2.0', id: 'hello', method: 'initialize', params };
    const response = await this.#wire.send(JSON.stringify(request), {});
    this.#session = response?.headers['mcp-session-id'] as string | undefined;
    await until(() => this.heard.length > 0, 'initialize is answered', 8_000);
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
    await this.#wire.send(JSON.stringify(initialized), this.#headers(initialized.method, {}));
  }

  #params(members: Readonly<Record<string, string>>, meta: Json): string {
    const envelope =
      this.era === 'legacy'
        ? {}
        : {
            [envelopeKeys.protocolVersion]: modernVersion,
            [envelopeKeys.clientInfo]: identity,
            [envelopeKeys.clientCapabilities]: declared,
          };
    const all = { ...members, _meta: JSON.stringify({ ...envelope, ...meta }) };
    return `{${Object.entries(all)
      .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
      .join(',')}}`;
  }

  #headers(method: string, members: Readonly<Record<string, string>>): Record<string, string> {
    if (this.era === 'legacy') {
      return {
        'mcp-protocol-version': '2025-11-25',
        ...(this.#session && { 'mcp-session-id': this.#session }),
      };
    }
    const named = members['name'] ?? members['uri'] ?? members['taskId'];
    return {
      'mcp-protocol-version': modernVersion,
      'mcp-method': method,
      ...(named !== undefined && { 'mcp-name': JSON.parse(named) as string }),
    };
  }
}
