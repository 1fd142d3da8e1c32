// A crowd of clients that are as alike as clients can be: the same ids, the same progress tokens, the
// same tools at the same time. Only the payload tells them apart, and so it tells whose an answer is.
// Every answer is compared, byte for byte, with the one that this client must get.

import { LeanSocket, leanPost } from '../support/gateway-lean-socket.ts';
import { envelope, legacyHeaders, modernHeaders } from '../support/http-front.ts';

export interface Kind {
  readonly era: 'modern' | 'legacy';
  /** The server that it calls, and the era of that server. */
  readonly server: string;
  readonly serverEra: 'modern' | 'legacy';
}

/** Requests of one client that are under way at once; their ids are those that all clients use. */
const lanes = 2;
const token = 7;
/** One call in so many reports its progress. */
const progressEvery = 16;

export class CrowdClient {
  readonly kind: Kind;
  readonly #tag: string;
  readonly #number: number;
  readonly #sockets: LeanSocket[] = [];
  readonly #port: number;
  #session: string | undefined;
  #calls = 0;
  /** Progress that was told, besides the answers. */
  progress = 0;

  constructor(number: number, kind: Kind, port: number) {
    this.kind = kind;
    this.#number = number;
    this.#port = port;
    this.#tag = `client-${String(number).padStart(3, '0')}`;
  }

  async open(): Promise<void> {
    for (let lane = 0; lane < lanes; lane += 1)
      this.#sockets.push(await LeanSocket.open(this.#port));
    if (this.kind.era === 'legacy') await this.#initialize();
  }

  /** Takes from the common number of calls until none is left. */
  async run(take: () => boolean): Promise<void> {
    await Promise.all(this.#sockets.map((socket, lane) => this.#lane(socket, lane, take)));
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
  }

  async #lane(socket: LeanSocket, lane: number, take: () => boolean): Promise<void> {
    while (take()) {
      this.#calls += 1;
      if (this.#calls % progressEvery === 0) await this.#slow(socket, lane);
      else await this.#echo(socket, lane, this.#calls);
    }
  }

  async #echo(socket: LeanSocket, id: number, call: number): Promise<void> {
    const text = `${this.#tag} ${call}`;
    const { body } = await socket.send(this.#call(id, 'echo', `{"text":"${text}"}`, ''));
    const content = `"content":[{"type":"text","text":"${text}"}],"structuredContent":{"text":"${text}"}`;
    this.#compare(messagesOf(body), [this.#answer(id, content)]);
  }

  /** The numbers of its progress and of its result are the client's own. */
  async #slow(socket: LeanSocket, id: number): Promise<void> {
    const ms = `3.${100 + this.#number}1`;
    const args = `{"ms":${ms},"progressEvery":1}`;
    const { body } = await socket.send(this.#call(id, 'slow', args, `"progressToken":${token},`));
    const content = `"content":[{"type":"text","text":"{\\"ms\\":${ms}}"}],"structuredContent":{"ms":${ms}}`;
    const reports = [1, 2, 3].map((progress) => {
      const params = `{"progressToken":${token},"progress":${progress},"total":${ms}}`;
      return `{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`;
    });
    this.#compare(messagesOf(body), [...reports, this.#answer(id, content)]);
    this.progress += reports.length;
  }

  #call(id: number, tool: string, args: string, meta: string): string {
    const { era, server } = this.kind;
    const name = `${server}__${tool}`;
    const members = JSON.stringify(envelope).slice(1, -1);
    const _meta = era === 'modern' ? `{${meta}${members}}` : `{${meta.replace(',', '')}}`;
    const params = `{"name":"${name}","arguments":${args},"_meta":${_meta}}`;
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
    return leanPost(
      body,
      era === 'modern' ? modernHeaders('tools/call', name) : legacyHeaders(this.#session),
    );
  }

  /** What the gateway adds to a result depends on the two eras that it stands between. */
  #answer(id: number, content: string): string {
    const { era, serverEra } = this.kind;
    const info =
      '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"faulty","version":"1.0.0"}}';
    const type = era === 'modern' ? ',"resultType":"complete"' : '';
    const meta = serverEra === 'modern' ? `,${info}` : '';
    return `{"jsonrpc":"2.0","id":${id},"result":{${content}${type}${meta}}}`;
  }

  #compare(got: readonly string[], expected: readonly string[]): void {
    if (got.length === expected.length && got.every((text, at) => text === expected[at])) return;
    throw new Error(`${this.#tag} (${this.kind.era}) got\n${got}\ninstead of\n${expected}`);
  }

  async #initialize(): Promise<void> {
    const [socket] = this.#sockets;
    const params = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`;
    const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":${params}}`;
    const answer = await socket?.send(leanPost(hello, legacyHeaders()));
    this.#session = /\r\nmcp-session-id: *([^\r]+)/i.exec(answer?.head ?? '')?.[1];
    if (this.#session === undefined) throw new Error(`no session: ${answer?.head}`);
  }
}

/** A line of a stream of events that says nothing of anybody. */
const framing = /^(?:event: message|id: p\d+-\d+-[0-9a-f]{8}|retry: \d+|data: ?|: \w+)?$/;

/** The messages of a stream of events, or the one that came alone. */
function messagesOf(body: Buffer): readonly string[] {
  const text = body.toString();
  if (text.startsWith('{')) return [text];
  const lines = text.split('\n').filter((line) => !framing.test(line));
  return lines.map((line) => (line.startsWith('data: ') ? line.slice(6) : line));
}
