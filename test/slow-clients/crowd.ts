// Clients of every kind there is over HTTP, each with something under way that makes the gateway talk:
// they read all of it, or not a byte.

import { connect, type Socket } from 'node:net';
import { LeanSocket, leanPost } from '../support/gateway-lean-socket.ts';
import { envelope, legacyHeaders, modernHeaders } from './requests.ts';

export interface Flood {
  /** Progress notifications of one call, and bytes of each. */
  readonly pieces: number;
  readonly bytes: number;
  /** The size of an answer that comes in one piece. */
  readonly answerBytes: number;
}

export interface CrowdOptions {
  readonly port: number;
  /** So many of each kind. */
  readonly clients: number;
  readonly doRead: boolean;
  readonly flood: Flood;
}

const eventStream = { accept: 'text/event-stream' };
const hello = (protocolVersion: string) =>
  message('initialize', {
    ...{ protocolVersion, capabilities: {} },
    clientInfo: { name: 'crowd', version: '1' },
  });

let nextId = 1;

function message(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: nextId++, method, params });
}

export class Crowd implements Disposable {
  readonly #options: CrowdOptions;
  readonly #sockets: Socket[] = [];

  private constructor(options: CrowdOptions) {
    this.#options = options;
  }

  /** All of them connected, and their requests sent. */
  static async gather(options: CrowdOptions): Promise<Crowd> {
    const crowd = new Crowd(options);
    for (let n = 0; n < options.clients; n += 1) await crowd.#joinOfEachKind();
    return crowd;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #joinOfEachKind(): Promise<void> {
    const { flood } = this.#options;
    const listening = await openSession(this.#options.port);
    await ask(
      this.#options.port,
      message('resources/subscribe', { uri: 'flood://one' }),
      listening,
    );
    this.#send(getRequest('/mcp', { ...legacyHeaders(listening), ...eventStream }));
    const posting = await openSession(this.#options.port);
    this.#send(leanPost(floodCall(flood), legacyHeaders(posting)));
    const noEvents = { ...legacyHeaders(posting), accept: 'application/json' };
    this.#send(leanPost(bigCall(flood), noEvents));
    this.#send(leanPost(floodCall(flood, envelope), modernHeaders('tools/call', 'flood__flood')));
    this.#send(leanPost(bigCall(flood, envelope), modernHeaders('tools/call', 'flood__big')));
    this.#send(leanPost(listenRequest(), modernHeaders('subscriptions/listen')));
    await this.#joinAsOf2024();
  }

  /** Its answers come on its stream, which is read as far as it says where to post. */
  async #joinAsOf2024(): Promise<void> {
    const { port, flood } = this.#options;
    const socket = this.#open();
    socket.write(getRequest('/sse', eventStream));
    const path = await new Promise<string>((resolve, reject) => {
      let heard = '';
      socket.on('error', reject).on('close', () => reject(new Error('no stream')));
      socket.on('data', (chunk) => {
        heard += chunk;
        const found = /data: (\/messages\S+)/.exec(heard)?.[1];
        if (found !== undefined) resolve(found);
      });
    });
    const headers = { 'content-type': 'application/json' };
    await ask(port, hello('2024-11-05'), undefined, path, headers);
    socket.removeAllListeners('data');
    this.#listen(socket);
    await ask(port, floodCall(flood), undefined, path, headers);
  }

  #send(request: string): void {
    const socket = this.#open();
    this.#listen(socket);
    socket.write(request);
  }

  #open(): Socket {
    const socket = connect(this.#options.port, '127.0.0.1');
    socket.on('error', () => {});
    this.#sockets.push(socket);
    return socket;
  }

  #listen(socket: Socket): void {
    if (this.#options.doRead) socket.resume();
    else socket.pause();
  }
}

/** A session that somebody may use, or leave; its id. */
export async function openSession(port: number, socket?: LeanSocket): Promise<string> {
  const own = socket ?? (await LeanSocket.open(port));
  const { head } = await own.send(leanPost(hello('2025-11-25'), legacyHeaders()));
  const session = /\r\nmcp-session-id: *([^\r]+)/i.exec(head)?.[1];
  if (socket === undefined) own.close();
  if (session === undefined) throw new Error(`no session: ${head}`);
  return session;
}

async function ask(
  port: number,
  body: string,
  session: string | undefined,
  path = '/mcp',
  headers: Record<string, string> = legacyHeaders(session),
): Promise<void> {
  const socket = await LeanSocket.open(port);
  await socket.send(leanPost(body, headers).replace('POST /mcp', `POST ${path}`));
  socket.close();
}

function getRequest(path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n`;
}

function floodCall({ pieces, bytes }: Flood, meta: object = {}): string {
  const _meta = { ...meta, progressToken: 'token' };
  return message('tools/call', { name: 'flood__flood', arguments: { pieces, bytes }, _meta });
}

function bigCall({ answerBytes }: Flood, _meta: object = {}): string {
  return message('tools/call', {
    name: 'flood__big',
    arguments: { bytes: answerBytes },
    _meta,
  });
}

function listenRequest(): string {
  const notifications = { toolsListChanged: true, resourceSubscriptions: ['flood://one'] };
  return message('subscriptions/listen', { notifications, _meta: envelope });
}
