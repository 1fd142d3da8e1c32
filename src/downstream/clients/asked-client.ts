// The requests of servers that a legacy client has not answered yet. Each is sent with an id of
// ours and answered with the server's id; the same holds for the token under which the client may
// report progress, because two servers may use the same. A request that its server cancels, or
// whose client disconnects, is answered with an error.

import type { Caller, ClientAnswer, Question } from '../../host/connections/caller.ts';
import { idOf } from '../../wire/decode.ts';
import { rpcCodes } from '../../wire/eras.ts';
import { type Frame, notificationFrame, requestFrame } from '../../wire/frames.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import type { Span } from '../../wire/span.ts';
import { oneLine, splice } from '../../wire/splice.ts';
import { withElicitationId } from '../relay/elicitation.ts';
import { type ClientCapabilities, elicitationMode } from './client-capabilities.ts';

interface Pending {
  readonly question: Question;
  /** The server's own, as it wrote it. */
  readonly progressToken: Buffer | undefined;
  readonly settle: (answer: ClientAnswer) => void;
  /** Whether its server may still ask. */
  readonly mayHear: () => boolean;
  /** Tells the client that no answer is needed. */
  readonly withdraw: () => void;
}

/** Pending requests of one client; further ones are refused. */
export const maxPending = 256;

/** Whether a client may be asked something. */
export interface AskingRules {
  /** At any time until it is answered: whether the server may ask this. */
  readonly mayHear: () => boolean;
  /** Called once, when nothing else is in the way: whether its budget allows it, toward which it is counted. */
  readonly mayReceive: () => boolean;
}

export class AskedClient {
  readonly #say: (frame: Frame, caller: Caller | undefined) => void;
  /** By our id, until answered or withdrawn; at most `maxPending`. */
  #pending: Map<number, Pending> | undefined;
  #nextId: number;

  /** `say` sends a frame on the stream of the call it belongs to, if there is one. */
  constructor(say: (frame: Frame, caller: Caller | undefined) => void, firstId = 1) {
    this.#say = say;
    this.#nextId = firstId;
  }

  /** The id of its next request. */
  get nextId(): number {
    return this.#nextId;
  }

  ask(
    question: Question,
    capabilities: ClientCapabilities,
    { mayHear, mayReceive }: AskingRules,
  ): Promise<ClientAnswer> {
    const { bytes, params: span, method = '', paramsObject, meta } = question.message;
    const params = span ? oneLine(bytes.subarray(span.start, span.end)) : undefined;
    const isFull = (this.#pending?.size ?? 0) >= maxPending;
    if (isFull || !capabilities.allows(method, params) || !mayReceive()) {
      return Promise.resolve(cannotBeAsked(method));
    }
    const token = paramsObject && meta?.find('progressToken');
    const asked = { question, mayHear };
    if (!token || !params || !span) return this.#request(method, params, asked, undefined);
    const place = { start: token.start - span.start, end: token.end - span.start };
    return this.#request(method, params, asked, place);
  }

  #request(
    method: string,
    params: Buffer | undefined,
    { question, mayHear }: Pick<Pending, 'question' | 'mayHear'>,
    token: Span | undefined,
  ): Promise<ClientAnswer> {
    const id = this.#nextId++;
    const { caller, withdrawn } = question;
    const progressToken = token && params?.subarray(token.start, token.end);
    const own = token && params ? splice(params, [{ ...token, with: String(id) }]) : params;
    this.#pending ??= new Map();
    const pending = this.#pending;
    return new Promise((resolve) => {
      const withdraw = () => {
        pending.delete(id);
        withdrawn.removeEventListener('abort', withdraw);
        const gone = `{"requestId":${id},"reason":"the server no longer needs an answer"}`;
        this.#say(notificationFrame('notifications/cancelled', gone), caller);
        resolve(cannotBeAsked(method));
      };
      const settle = (answer: ClientAnswer) => {
        pending.delete(id);
        withdrawn.removeEventListener('abort', withdraw);
        resolve(answer);
      };
      pending.set(id, { question, mayHear, progressToken, settle, withdraw });
      withdrawn.addEventListener('abort', withdraw);
      const isUrl = method === 'elicitation/create' && elicitationMode(own) === 'url';
      const sent = isUrl && own ? withElicitationId(own) : own;
      this.#say(requestFrame(id, method, sent ?? '{}'), caller);
    });
  }

  /** The client's answer; an unexpected one is ignored. */
  answered({ bytes, id, result, error }: Message): void {
    const pending = typeof id === 'number' ? this.#pending?.get(id) : undefined;
    const span = result ?? error;
    if (!pending || !span) return;
    const json = Buffer.from(oneLine(bytes.subarray(span.start, span.end)));
    pending.settle({ kind: result ? 'result' : 'error', json });
  }

  /** Progress of the client on a request: forwarded with the server's own token. */
  progressed({ bytes, paramsObject }: Message): void {
    const span = paramsObject?.find('progressToken');
    const token = span && idOf(bytes, span);
    const pending = typeof token === 'number' ? this.#pending?.get(token) : undefined;
    if (!span || !pending?.progressToken) return;
    const edit = { start: span.start, end: span.end, with: pending.progressToken };
    pending.question.tellServer(scanMessage(splice(bytes, [edit])));
  }

  /** What may not be asked any more is withdrawn: the client is told, and the server gets an error. */
  policyChanged(): void {
    for (const { mayHear, withdraw } of [...(this.#pending?.values() ?? [])]) {
      if (!mayHear()) withdraw();
    }
  }

  /** The client has disconnected. */
  close(): void {
    for (const { settle, question } of [...(this.#pending?.values() ?? [])]) {
      settle(cannotBeAsked(question.message.method ?? ''));
    }
  }
}

export function cannotBeAsked(method: string): ClientAnswer {
  const message = `the client cannot be asked for ${method}`;
  return { kind: 'error', json: JSON.stringify({ code: rpcCodes.methodNotFound, message }) };
}
