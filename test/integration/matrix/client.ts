// What a feature sees of a client, whichever SDK and era is behind it. It leaves to the adapters how
// an era does a thing: whether a log level is a request or a part of each request, whether an answer
// goes back as a response or with the next call.

import type { Era } from '../../../src/wire/eras.ts';

export type Json = Record<string, unknown>;

/** What a server asked of this client. */
export interface Question {
  readonly method: string;
  readonly params: Json;
}

export interface Notification {
  readonly method: string;
  readonly params: Json;
}

export interface RequestOptions {
  readonly onProgress?: (progress: Json) => void;
  readonly signal?: AbortSignal;
}

/** What has been heard and asked so far, and how questions are answered. */
export class Conversation {
  readonly notifications: Notification[] = [];
  readonly questions: Question[] = [];
  /** A feature sets it before it calls. */
  answer: (question: Question) => Json | Promise<Json> = ({ method }) => {
    throw new Error(`nobody expected ${method}`);
  };

  heard(notification: { method: string; params?: Json | undefined }): void {
    this.notifications.push({ method: notification.method, params: notification.params ?? {} });
  }

  async asked(request: { method: string; params?: Json | undefined }): Promise<Json> {
    const question = { method: request.method, params: request.params ?? {} };
    this.questions.push(question);
    return this.answer(question);
  }
}

export interface MatrixClient extends AsyncDisposable {
  readonly era: Era;
  readonly conversation: Conversation;
  /** The server's capabilities as this client knows them. */
  capabilities(): Json;
  request(method: string, params?: Json, options?: RequestOptions): Promise<Json>;
  notify(method: string, params: Json): Promise<void>;
  /** The tools as the SDK's own, typed method gives them. */
  toolNames(): Promise<string[]>;
  setLogLevel(level: string): Promise<void>;
  subscribe(uri: string): Promise<AsyncDisposable>;
  /** From now on it hears of changes of the lists. */
  watchLists(): Promise<AsyncDisposable>;
}

export const root = { uri: 'file:///home/ada', name: 'home' };
export const identity = { name: 'matrix-client', version: '1.0.0' };

/** What every client here can do, as far as its era has words for it. */
export const abilities = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};

export const requestTimeoutMs = 10_000;
