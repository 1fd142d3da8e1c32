// The gateway as the HTTP front sees it, played by a test: every request, message and session that
// comes through the door is written down, and answered when and how the test says.

import type { SessionState } from '../../src/downstream/clients/session-state.ts';
import type {
  GatewayForTransports,
  OpenRequest,
  Outlet,
  Reply,
  Session,
  SessionOptions,
  Underway,
} from '../../src/downstream/contract.ts';
import type { Principal } from '../../src/policy/principal.ts';
import type { ClientCancel } from '../../src/wire/client-cancel.ts';
import { legacyVersions } from '../../src/wire/eras.ts';
import type { Frame } from '../../src/wire/frames.ts';
import type { Message } from '../../src/wire/scan.ts';

export interface Asked {
  readonly message: Message;
  readonly method: string;
  readonly principal: Principal;
  readonly reply: Reply;
  isCancelled: boolean;
  /** What its client said when it cancelled. */
  cancelWords: ClientCancel | undefined;
}

/** A message as a frame, in as many pieces as asked for. */
export function frame(message: unknown, pieces = 1): Frame {
  const text = JSON.stringify(message);
  const size = Math.ceil(text.length / pieces);
  return Array.from({ length: pieces }, (_, index) => {
    const part = text.slice(index * size, (index + 1) * size);
    return index % 2 === 0 ? part : Buffer.from(part);
  });
}

export const result = (id: unknown, value: unknown = {}) =>
  frame({ jsonrpc: '2.0', id, result: value });

export const note = (method: string, params: unknown = {}) =>
  frame({ jsonrpc: '2.0', method, params });

export class FakeFront implements GatewayForTransports {
  readonly asked: Asked[] = [];
  readonly notified_: Message[] = [];
  readonly sessions: FakeSession[] = [];
  readonly schemas = new Map<string, unknown>();
  /** Errors that nobody expected. */
  readonly defects: unknown[] = [];
  /** Whose access has ended. */
  readonly ended: string[] = [];
  /** What happens to a request as it comes in; without it, it waits for the test. */
  onAsked: ((asked: Asked) => void) | undefined;

  openSession(principal: Principal, outlet: Outlet, options: SessionOptions = {}): Session {
    const session = new FakeSession(this, principal, outlet, options);
    this.sessions.push(session);
    return session;
  }

  request(message: Message, from: { readonly principal: Principal }, reply: Reply): Underway {
    return this.ask(message, from.principal, reply);
  }

  notified(message: Message): void {
    this.notified_.push(message);
  }

  caught(error: unknown): void {
    this.defects.push(error);
  }

  accessEnded(ids: ReadonlySet<string>): void {
    this.ended.push(...ids);
  }

  inputSchemaOf(tool: string): unknown {
    return this.schemas.get(tool);
  }

  /** No path of these tests takes anything away. */
  narrowed(principal: Principal): Principal {
    return principal;
  }

  ask(message: Message, principal: Principal, reply: Reply): Underway {
    const asked: Asked = {
      message,
      method: message.method ?? '',
      principal,
      reply,
      isCancelled: false,
      cancelWords: undefined,
    };
    this.asked.push(asked);
    this.onAsked?.(asked);
    return {
      cancel: (words) => {
        asked.isCancelled = true;
        asked.cancelWords = words;
      },
    };
  }

  /** The latest request of a method. */
  last(method?: string): Asked {
    const asked = this.asked.findLast((one) => method === undefined || one.method === method);
    if (asked === undefined) throw new Error(`nothing was asked${method ? ` with ${method}` : ''}`);
    return asked;
  }

  get session(): FakeSession {
    const session = this.sessions.at(-1);
    if (session === undefined) throw new Error('no session was opened');
    return session;
  }
}

/** Answers `initialize` by itself; everything else is the test's. */
export class FakeSession implements Session {
  readonly principal: Principal;
  readonly outlet: Outlet;
  readonly heard: Message[] = [];
  protocolVersion: string | undefined;
  inFlight = 0;
  isClosed = false;
  readonly #front: FakeFront;
  readonly options: SessionOptions;
  readonly #open = new Map<Message, Reply>();

  constructor(front: FakeFront, principal: Principal, outlet: Outlet, options: SessionOptions) {
    this.#front = front;
    this.principal = principal;
    this.outlet = outlet;
    this.options = options;
    this.protocolVersion = options.restored?.protocolVersion;
  }

  get openRequests(): readonly OpenRequest[] {
    return [...this.#open.keys()].map(({ id, method = '' }) => ({
      ...{ id: id as string | number, method },
    }));
  }

  get state(): SessionState {
    const { protocolVersion } = this;
    const nextQuestion = (this.options.restored?.nextQuestion ?? 1) + 1;
    const agreed = protocolVersion === undefined ? {} : { protocolVersion };
    return { ...agreed, capabilities: '{}', watched: [], nextQuestion };
  }

  receive(message: Message, reply: Reply | undefined): Underway | undefined {
    this.heard.push(message);
    if (reply === undefined || message.kind !== 'request') return undefined;
    if (message.method === 'initialize') return this.#initialize(message, reply);
    this.inFlight += 1;
    this.#open.set(message, reply);
    const over = () => {
      this.inFlight -= 1;
      this.#open.delete(message);
    };
    return this.#front.ask(message, this.principal, {
      send: (frame) => reply.send(frame),
      answer: (frame, code) => {
        over();
        reply.answer(frame, code);
      },
      withdrawn: () => {
        over();
        reply.withdrawn?.();
      },
    });
  }

  close(): void {
    this.isClosed = true;
    for (const reply of [...this.#open.values()]) reply.withdrawn?.();
  }

  #initialize(message: Message, reply: Reply): undefined {
    const { params } = JSON.parse(message.bytes.toString()) as {
      params?: { protocolVersion?: string };
    };
    const wanted = params?.protocolVersion;
    if (wanted === undefined) {
      const error = { code: -32602, message: 'no protocolVersion' };
      return reply.answer(frame({ jsonrpc: '2.0', id: message.id, error }), -32602) as undefined;
    }
    const known: readonly string[] = legacyVersions;
    this.protocolVersion = known.includes(wanted) ? wanted : legacyVersions[0];
    reply.answer(
      result(message.id, {
        protocolVersion: this.protocolVersion,
        capabilities: { tools: {}, logging: {} },
        serverInfo: { name: 'fake', version: '1' },
      }),
    );
    return undefined;
  }
}
