// One legacy client from `initialize` to its end. The session remembers what was agreed on, which of
// its requests are under way, what it has been asked and not yet answered, from which level on it
// wants log lines and which resources it watches. What a request means is the gateway's business;
// where its messages go is the transport's.

import type { Caller, Client, ClientAnswer, Question } from '../host/caller.ts';
import { isHeard } from '../host/log-level.ts';
import { ChurnTable } from '../kernel/churn-table.ts';
import type { Principal } from '../policy/principal.ts';
import { type Id, idOf, valueOf as parsed, textOf } from '../wire/decode.ts';
import { latestLegacyVersion, legacyVersions, rpcCodes } from '../wire/eras.ts';
import { objectAt } from '../wire/parts.ts';
import { type Message, scanMessage } from '../wire/scan.ts';
import type { Span } from '../wire/span.ts';
import { oneLine, splice } from '../wire/splice.ts';
import { ClientCapabilities, elicitationMode } from './client-capabilities.ts';
import type { Frame, Outlet, Reply, Session, Underway } from './contract.ts';
import { withElicitationId } from './elicitation.ts';
import {
  carriedFrame,
  errorFrame,
  idText,
  notificationFrame,
  requestFrame,
  resultFrame,
} from './frames.ts';
import { Incoming } from './incoming.ts';
import { isWithin } from './watched-address.ts';

/** What a session needs of the gateway. */
export interface SessionHost {
  /** The result of `initialize` but for the version: JSON members. */
  greeting(): string;
  /** Works on a request; what it returns is nothing, the answer goes to the request itself. */
  answer(incoming: Incoming, session: LegacySession): void;
  /** A notification that is not about the session itself. */
  notified(message: Message, session: LegacySession): void;
  closed(session: LegacySession): void;
}

interface Pending {
  readonly question: Question;
  /** The server's own, as it wrote it. */
  readonly progressToken: Buffer | undefined;
  readonly settle: (answer: ClientAnswer) => void;
}

const notInitialized = -32002;

export class LegacySession implements Session, Client {
  readonly key: string;
  readonly principal: Principal;
  readonly isAskedInCalls = false;
  /** Addresses as the client knows them, each with how to stop watching. */
  readonly watched = new Map<string, () => void>();
  logLevel: string | undefined;
  readonly #host: SessionHost;
  readonly #outlet: Outlet;
  readonly #requests = new ChurnTable<Id, Incoming>(64);
  readonly #pending = new Map<number, Pending>();
  #capabilities = new ClientCapabilities({});
  #protocolVersion: string | undefined;
  #nextId = 1;
  #isClosed = false;

  constructor(key: string, principal: Principal, outlet: Outlet, host: SessionHost) {
    this.key = key;
    this.principal = principal;
    this.#outlet = outlet;
    this.#host = host;
  }

  get protocolVersion(): string | undefined {
    return this.#protocolVersion;
  }

  get inFlight(): number {
    return this.#requests.size;
  }

  hasRoots(): boolean {
    return this.#capabilities.hasRoots;
  }

  /** Something that belongs to no request. */
  send(frame: Frame): void {
    if (!this.#isClosed && this.#protocolVersion !== undefined) this.#outlet.send(frame);
  }

  // --- what the client says ----------------------------------------------------------------

  receive(message: Message, reply: Reply | undefined): Underway | undefined {
    if (this.#isClosed) return undefined;
    switch (message.kind) {
      case 'request':
        return reply && this.#request(message, reply);
      case 'notification':
        this.#notification(message);
        return undefined;
      case 'result':
      case 'error':
        this.#answered(message);
        return undefined;
    }
  }

  #request(message: Message, reply: Reply): Underway | undefined {
    const { method, id } = message;
    if (method === 'ping') {
      reply.answer(resultFrame(idText(message), '{}'));
      return undefined;
    }
    if (method === 'initialize') {
      this.#initialize(message, reply);
      return undefined;
    }
    const refusal = this.#refusal(id);
    if (refusal) {
      reply.answer(errorFrame(idText(message), refusal), refusal.code);
      return undefined;
    }
    const incoming = new Incoming(message, this.#sender(), reply, () =>
      this.#requests.delete(id as Id),
    );
    this.#requests.set(id as Id, incoming);
    this.#host.answer(incoming, this);
    return incoming.isOver ? undefined : incoming;
  }

  #refusal(id: Message['id']): { code: number; message: string } | undefined {
    if (this.#protocolVersion === undefined) {
      const message = 'Not initialized: send initialize first, then notifications/initialized';
      return { code: notInitialized, message };
    }
    if (id === undefined || id === null) {
      return { code: rpcCodes.invalidRequest, message: 'Invalid request: it has no id' };
    }
    if (!this.#requests.has(id)) return undefined;
    const message = `Invalid request: ${JSON.stringify(id)} is the id of a request that is still under way`;
    return { code: rpcCodes.invalidRequest, message };
  }

  #initialize(message: Message, reply: Reply): void {
    const { bytes, paramsObject } = message;
    const asked = paramsObject?.find('protocolVersion');
    const version = asked && textOf(bytes, asked);
    if (version === undefined) {
      const problem = 'Invalid params: initialize needs a protocolVersion';
      const refusal = { code: rpcCodes.invalidParams, message: problem };
      return reply.answer(errorFrame(idText(message), refusal), refusal.code);
    }
    const capabilities = paramsObject?.find('capabilities');
    this.#capabilities = new ClientCapabilities(capabilities && parsed(bytes, capabilities));
    const isKnown = (legacyVersions as readonly string[]).includes(version);
    this.#protocolVersion = isKnown ? version : latestLegacyVersion;
    const agreed = `{"protocolVersion":${JSON.stringify(this.#protocolVersion)},${this.#host.greeting()}}`;
    reply.answer(resultFrame(idText(message), agreed));
  }

  #sender() {
    const { principal, logLevel } = this;
    const capabilities = this.#capabilities.modernText;
    return { principal, client: this, era: 'legacy', capabilities, logLevel } as const;
  }

  #notification(message: Message): void {
    const { bytes, paramsObject } = message;
    switch (message.method) {
      case 'notifications/cancelled': {
        const span = paramsObject?.find('requestId');
        const id = span && idOf(bytes, span);
        if (id !== undefined) this.#requests.get(id)?.cancel();
        return;
      }
      case 'notifications/progress':
        return this.#progressed(message);
      case 'notifications/initialized':
        return;
      default:
        if (this.#protocolVersion !== undefined) this.#host.notified(message, this);
    }
  }

  // --- what the client is asked ------------------------------------------------------------

  ask(question: Question): Promise<ClientAnswer> {
    const { bytes, params: span, method = '', paramsObject, meta } = question.message;
    const params = span ? oneLine(bytes.subarray(span.start, span.end)) : undefined;
    if (this.#isClosed || !this.#capabilities.allows(method, params)) {
      return Promise.resolve(unsupported(method));
    }
    const token = paramsObject && meta?.find('progressToken');
    if (!token || !params || !span) return this.request(method, params, question, undefined);
    const place = { start: token.start - span.start, end: token.end - span.start };
    return this.request(method, params, question, place);
  }

  /** A request to the client, on the stream of the call it belongs to, if there is one. */
  request(
    method: string,
    params: Buffer | undefined,
    question: Question,
    token: Span | undefined,
  ): Promise<ClientAnswer> {
    const id = this.#nextId++;
    const progressToken = token && params?.subarray(token.start, token.end);
    // Two servers may use the same token; the client gets one of our own.
    const own = token && params ? splice(params, [{ ...token, with: String(id) }]) : params;
    return new Promise((resolve) => {
      const withdraw = () => {
        this.#pending.delete(id);
        const gone = `{"requestId":${id},"reason":"the server no longer needs an answer"}`;
        this.#say(notificationFrame('notifications/cancelled', gone), question.caller);
        resolve(unsupported(method));
      };
      const settle = (answer: ClientAnswer) => {
        this.#pending.delete(id);
        question.withdrawn.removeEventListener('abort', withdraw);
        resolve(answer);
      };
      this.#pending.set(id, { question, progressToken, settle });
      question.withdrawn.addEventListener('abort', withdraw);
      const isUrl = method === 'elicitation/create' && elicitationMode(own) === 'url';
      const sent = isUrl && own ? withElicitationId(own) : own;
      this.#say(requestFrame(id, method, sent ?? '{}'), question.caller);
    });
  }

  #answered(message: Message): void {
    const { bytes, id, result, error } = message;
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    const span = result ?? error;
    if (!pending || !span) return;
    const json = Buffer.from(oneLine(bytes.subarray(span.start, span.end)));
    pending.settle({ kind: result ? 'result' : 'error', json });
  }

  /** The client reports on what it was asked: under the server's own token. */
  #progressed(message: Message): void {
    const { bytes, paramsObject } = message;
    const span = paramsObject?.find('progressToken');
    const token = span && idOf(bytes, span);
    const pending = typeof token === 'number' ? this.#pending.get(token) : undefined;
    if (!span || !pending?.progressToken) return;
    const edit = { start: span.start, end: span.end, with: pending.progressToken };
    pending.question.tellServer(scanMessage(splice(bytes, [edit])));
  }

  tell(_server: string, message: Message, caller: Caller | undefined): void {
    if (message.method === 'notifications/message' && !this.#hears(message)) return;
    this.#say(carriedFrame(message), caller);
  }

  #hears({ bytes, paramsObject }: Message): boolean {
    const span = paramsObject?.find('level');
    return this.logLevel === undefined || isHeard(span && textOf(bytes, span), this.logLevel);
  }

  #say(frame: Frame, caller: Caller | undefined): void {
    if (caller instanceof Incoming && !caller.isOver) caller.send(frame);
    else this.send(frame);
  }

  // --- the end -----------------------------------------------------------------------------

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const incoming of this.#requests.values()) incoming.cancel();
    for (const { settle, question } of [...this.#pending.values()]) {
      settle(unsupported(question.message.method ?? ''));
    }
    for (const stop of this.watched.values()) stop();
    this.watched.clear();
    this.#host.closed(this);
  }
}

function unsupported(method: string): ClientAnswer {
  const error = {
    code: rpcCodes.methodNotFound,
    message: `the client cannot be asked for ${method}`,
  };
  return { kind: 'error', json: JSON.stringify(error) };
}

/** Is this address one that is watched, or part of one? */
export function watches(session: LegacySession, uri: string): boolean {
  if (session.watched.has(uri)) return true;
  for (const watched of session.watched.keys()) if (isWithin(uri, watched)) return true;
  return false;
}

/** The params of a message as an object of their own. */
export function paramsOf({ bytes, params }: Message): Buffer | undefined {
  const object = params && objectAt(bytes, params);
  return object && oneLine(bytes.subarray(object.start, object.end));
}
