// The session of a legacy server for a connection: its id, which is sent with every message, and
// its end. A server may end it with a 404. Many answer 400 instead where they do not (or no longer)
// know the session, and 400 may mean anything else: a session in which not even a ping is accepted
// has ended.

import { ignored } from '../../kernel/contain.ts';
import { type Era, modernVersion } from '../../wire/eras.ts';
import type { Message } from '../../wire/scan.ts';
import type { Exchange } from '../exchange.ts';
import { isFromSession } from '../liveness.ts';
import type { HttpHeaders } from './http-client.ts';
import type { HttpParts } from './http-parts.ts';
import { sendOneWay } from './one-way.ts';

export interface SessionListener {
  isOpen(): boolean;
  probe(): Promise<boolean>;
  /** Not even a ping is accepted. */
  refused(): void;
}

const goodbyeMs = 1_000;

export class ServerSession {
  /** Absent: the server has no session, or has ended it. */
  id: string | undefined;
  readonly #parts: HttpParts;
  readonly #listener: SessionListener;
  /** Whether the server is being asked whether the session still exists. */
  #isDoubted = false;

  constructor(parts: HttpParts, listener: SessionListener) {
    this.#parts = parts;
    this.#listener = listener;
  }

  /** Of every message of this session; `version` is the one that was agreed on, once it is. */
  headers(era: Era, version: string | undefined): Record<string, string> {
    return {
      ...this.#parts.headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(era === 'modern' ? { 'mcp-protocol-version': modernVersion } : {}),
      ...(era === 'legacy' && version ? { 'mcp-protocol-version': version } : {}),
      ...(this.id === undefined ? {} : { 'mcp-session-id': this.id }),
    };
  }

  /** The answer to `initialize` names the session. */
  answered(method: string, headers: HttpHeaders): void {
    const id = headers.get('mcp-session-id');
    if (method === 'initialize' && id !== undefined) this.id = id;
  }

  /** A request was answered with 400. What was refused is not sent again. */
  doubt(method: string, refused: Exchange): void {
    if (method === 'ping') {
      const over = () => this.#listener.refused();
      const heard = (message: Message) => {
        if (!isFromSession(message)) over();
      };
      refused.answer.then(heard, over).catch(ignored);
      return;
    }
    if (this.#isDoubted || !this.#listener.isOpen()) return;
    this.#isDoubted = true;
    const answered = () => {
      this.#isDoubted = false;
    };
    this.#listener.probe().then(answered).catch(ignored);
  }

  /** It is ended properly, but the response is not waited for long. */
  async sayGoodbye(version: string | undefined): Promise<void> {
    const { url, http, clock } = this.#parts;
    const headers = this.headers('legacy', version);
    const request = { url, method: 'DELETE', headers, body: null } as const;
    await sendOneWay(http, request, clock, goodbyeMs).over;
  }
}
