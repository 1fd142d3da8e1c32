// One legacy client from `initialize` to its end. The session stores what was negotiated, the
// running requests, the pending requests of servers (asked-client), the log level and the watched
// resources. The gateway interprets requests; the transport sends messages.

import type { Caller, Client, ClientAnswer, Question } from '../../host/connections/caller.ts';
import type { ClientFolder } from '../../host/connections/client-folder.ts';
import { isHeard } from '../../host/connections/log-level.ts';
import { RingMap } from '../../kernel/ring-map.ts';
import { type Principal, sharingOwnerOf } from '../../policy/principal.ts';
import { type Id, idOf, valueOf as parsed, textOf } from '../../wire/decode.ts';
import { latestLegacyVersion, legacyVersions, rpcCodes } from '../../wire/eras.ts';
import { carriedFrame, errorFrame, type Frame, idText, resultFrame } from '../../wire/frames.ts';
import { objectAt } from '../../wire/parts.ts';
import type { Message } from '../../wire/scan.ts';
import { oneLine } from '../../wire/splice.ts';
import { endAccess } from '../access-ended.ts';
import { clientCancel } from '../client-cancel.ts';
import {
  maxUnderWay,
  type OpenRequest,
  type Outlet,
  type Reply,
  type Session,
  type Underway,
} from '../contract.ts';
import { Incoming } from '../incoming.ts';
import { internalError, tooManyUnderWay } from '../refusals.ts';
import { isWithin } from '../subscriptions/watched-address.ts';
import { asTheClientKnowsIt, asTheServerKnowsIt, type KnownTasks } from '../tasks/related-task.ts';
import { AskedClient, cannotBeAsked } from './asked-client.ts';
import { ClientCapabilities } from './client-capabilities.ts';
import { changeOf } from './client-setup.ts';
import { firstQuestionAfter, type SessionState, type WatchedAddress } from './session-state.ts';

/** They are kept as long as the session; on the transports that keep no more of `initialize`, too. */
const maxCapabilityBytes = 16_384;

/** What a session needs of the gateway. */
export interface SessionHost {
  /** The result of `initialize` but for the version: JSON members. */
  greeting(sender: Caller): string | Promise<string>;
  /** Processes a request; the answer goes to the request itself. */
  answer(incoming: Incoming, session: LegacySession): void;
  /** The id of the first request to the client; absent: 1. */
  readonly firstQuestion?: number;
  /** Where the client was started, if that is known. */
  readonly folder?: ClientFolder | undefined;
  /** A notification that is not about the session itself. */
  notified(message: Message, session: LegacySession): void;
  /** One of its requests has ended. */
  settled(): void;
  closed(session: LegacySession): void;
  /** An unexpected error. */
  caught(error: unknown): void;
  /** Whether something that a server says may reach its client. */
  mayHear(
    server: string,
    message: Message,
    caller: Caller | undefined,
    session: LegacySession,
  ): boolean;
  /** The same by its budget, toward which the message is counted. */
  mayReceive(message: Message, session: LegacySession): boolean;
  /** How ids of the server's tasks become this client's handles, and back. */
  tasks(server: string, session: LegacySession): KnownTasks;
  /** Watches at its server what the process before has watched for this session; the result stops it. */
  watch(watched: WatchedAddress, session: LegacySession): Promise<() => void>;
}

/** A resource that is watched at a server. */
export interface Watched {
  readonly server: string;
  /** As the server knows it. */
  readonly uri: string;
  readonly stop: () => void;
}

export class LegacySession implements Session, Client {
  readonly key: string;
  readonly principal: Principal;
  readonly isAskedInCalls = false;
  /** Addresses as the client knows them, each with how to stop watching; at most `maxWatched`. */
  readonly watched = new Map<string, Watched>();
  logLevel: string | undefined;
  readonly #host: SessionHost;
  readonly #outlet: Outlet;
  /** By the client's own id, until answered or cancelled; at most `maxUnderWay`. */
  readonly #requests = new RingMap<Id, Incoming>(64);
  readonly #asked: AskedClient;
  #capabilities = new ClientCapabilities({});
  #protocolVersion: string | undefined;
  /** The client sends nothing more. */
  #isSilent = false;
  #isClosed = false;

  /** `restored` is the session in the process before. */
  constructor(
    key: string,
    principal: Principal,
    outlet: Outlet,
    host: SessionHost,
    restored?: SessionState,
  ) {
    this.key = key;
    this.principal = principal;
    this.#outlet = outlet;
    this.#host = host;
    const first = restored ? firstQuestionAfter(restored) : host.firstQuestion;
    this.#asked = new AskedClient((frame, caller) => this.say(frame, caller), first);
    if (restored === undefined) return;
    this.#protocolVersion = restored.protocolVersion;
    this.#capabilities = new ClientCapabilities(JSON.parse(restored.capabilities));
    this.logLevel = restored.logLevel;
    for (const address of restored.watched) this.watchAlso(address);
  }

  get state(): SessionState {
    const { logLevel, watched } = this;
    const protocolVersion = this.#protocolVersion;
    const addresses = [...watched].map(([as, { server, uri }]) => ({ as, server, uri }));
    return {
      ...(protocolVersion === undefined ? {} : { protocolVersion }),
      ...(logLevel === undefined ? {} : { logLevel }),
      capabilities: this.#capabilities.modernText,
      watched: addresses,
      nextQuestion: this.#asked.nextId,
    };
  }

  /**
   * From now on its client is told of changes, also of those that come before the server has answered. It is told of one
   * in any case: nobody may have heard of one that came before.
   */
  watchAlso(address: WatchedAddress): void {
    const { as, server, uri } = address;
    if (this.watched.has(as)) return;
    let isOver = false;
    let end = () => {
      isOver = true;
    };
    const watched = { server, uri, stop: () => end() };
    this.watched.set(as, watched);
    const failed = () => {
      if (this.watched.get(as) !== watched) return;
      // It will hear of no other, and learns why when it reads.
      this.watched.delete(as);
      this.send(changeOf(as));
    };
    const begun = (stop: () => void) => {
      if (isOver) return stop();
      end = stop;
      this.send(changeOf(as));
    };
    this.#host
      .watch(address, this)
      .then(begun, failed)
      .catch((error: unknown) => this.#host.caught(error));
  }

  get protocolVersion(): string | undefined {
    return this.#protocolVersion;
  }

  get folder(): ClientFolder | undefined {
    return this.#host.folder;
  }

  get sharingOwner(): string | undefined {
    return sharingOwnerOf(this.principal);
  }

  get isGone(): boolean {
    return this.#isClosed;
  }

  get inFlight(): number {
    return this.#requests.size;
  }

  get underWay(): readonly Incoming[] {
    return this.#requests.values();
  }

  get openRequests(): readonly OpenRequest[] {
    return this.underWay.map(({ message: { id, method = '' } }) => ({ id: id as Id, method }));
  }

  hasRoots(): boolean {
    return this.#capabilities.hasRoots;
  }

  /** Something that belongs to no request; `kind` as in `Reply`. */
  send(frame: Frame, kind?: string): void {
    if (!this.#isClosed && this.#protocolVersion !== undefined) this.#outlet.send(frame, kind);
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
        this.#asked.answered(message);
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
    const incoming = new Incoming(message, this.#sender(), reply, () => {
      this.#requests.delete(id as Id);
      this.#host.settled();
    });
    this.#requests.set(id as Id, incoming);
    try {
      this.#host.answer(incoming, this);
    } catch (error) {
      // An unfinished one would keep the session for ever.
      this.#host.caught(error);
      incoming.error(internalError);
    }
    return incoming.isOver ? undefined : incoming;
  }

  #refusal(id: Message['id']): { code: number; message: string } | undefined {
    if (this.#protocolVersion === undefined) {
      const message = 'Not initialized: send initialize first, then notifications/initialized';
      return { code: rpcCodes.notInitialized, message };
    }
    if (id === undefined || id === null) {
      return { code: rpcCodes.invalidRequest, message: 'Invalid request: it has no id' };
    }
    if (this.#requests.size >= maxUnderWay) return tooManyUnderWay;
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
    if (capabilities && capabilities.end - capabilities.start > maxCapabilityBytes) {
      const problem = `Invalid params: capabilities may have ${maxCapabilityBytes} bytes`;
      const refusal = { code: rpcCodes.invalidParams, message: problem };
      return reply.answer(errorFrame(idText(message), refusal), refusal.code);
    }
    this.#capabilities = new ClientCapabilities(capabilities && parsed(bytes, capabilities));
    const isKnown = (legacyVersions as readonly string[]).includes(version);
    this.#protocolVersion = isKnown ? version : latestLegacyVersion;
    const head = `{"protocolVersion":${JSON.stringify(this.#protocolVersion)},`;
    const answer = (greeting: string) =>
      reply.answer(resultFrame(idText(message), `${head}${greeting}}`));
    const failed = (error: unknown) => {
      this.#host.caught(error);
      reply.answer(errorFrame(idText(message), internalError), internalError.code);
    };
    const greeting = this.#host.greeting(this.#sender());
    if (typeof greeting === 'string') answer(greeting);
    else greeting.then(answer, failed).catch((error: unknown) => this.#host.caught(error));
  }

  /** On whose behalf something is looked up between its requests. */
  get caller(): Caller {
    return this.#sender();
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
        if (id !== undefined) this.#requests.get(id)?.cancel(clientCancel(message));
        return;
      }
      case 'notifications/progress':
        return this.#asked.progressed(message);
      case 'notifications/initialized':
        return;
      default:
        if (this.#protocolVersion !== undefined) this.#host.notified(message, this);
    }
  }

  // --- what the client is asked ------------------------------------------------------------

  ask(question: Question): Promise<ClientAnswer> {
    const { server, message: own, caller } = question;
    const mayHear = () => this.#mayHear(server, own, caller);
    if (this.#isClosed || this.#isSilent || !mayHear()) {
      return Promise.resolve(cannotBeAsked(question.message.method ?? ''));
    }
    const { handleOf, idOf } = this.#host.tasks(question.server, this);
    const message = asTheClientKnowsIt(question.message, handleOf);
    const asking = this.#asked.ask({ ...question, message }, this.#capabilities, {
      mayHear,
      mayReceive: () => !question.isMessage || this.#host.mayReceive(own, this),
    });
    return asking.then(({ kind, json }) => ({ kind, json: asTheServerKnowsIt(json, idOf) }));
  }

  #mayHear(server: string, message: Message, caller: Caller | undefined): boolean {
    return this.#host.mayHear(server, message, caller, this);
  }

  tell(server: string, message: Message, caller: Caller | undefined): void {
    if (!this.#mayHear(server, message, caller)) return;
    if (message.method === 'notifications/message' && !this.#hears(message)) return;
    if (!this.#host.mayReceive(message, this)) return;
    const { handleOf } = this.#host.tasks(server, this);
    this.say(carriedFrame(asTheClientKnowsIt(message, handleOf)), caller);
  }

  #hears({ bytes, paramsObject }: Message): boolean {
    const span = paramsObject?.find('level');
    return this.logLevel === undefined || isHeard(span && textOf(bytes, span), this.logLevel);
  }

  /** On the stream of the request it belongs to, if that is still open. */
  say(frame: Frame, caller: Caller | undefined): void {
    if (caller instanceof Incoming && !caller.isOver) caller.send(frame);
    else this.send(frame);
  }

  /** Who may hear what has changed: what is hidden now asks nothing, and is not watched. */
  policyChanged(isWatchAllowed: (watched: Watched) => boolean): void {
    this.#asked.policyChanged();
    this.#stopWatching((watched) => !isWatchAllowed(watched));
  }

  /** Nothing more comes from this server. */
  serverGone(name: string): void {
    this.#stopWatching(({ server }) => server === name);
  }

  #stopWatching(isOver: (watched: Watched) => boolean): void {
    for (const [uri, watched] of this.watched) {
      if (!isOver(watched)) continue;
      this.watched.delete(uri);
      watched.stop();
    }
  }

  // --- the end -----------------------------------------------------------------------------

  inputEnded(): void {
    this.#isSilent = true;
    this.#asked.close();
  }

  endAccess(): void {
    for (const incoming of this.#requests.values()) endAccess(incoming);
    this.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const incoming of this.#requests.values()) incoming.cancel();
    this.#asked.close();
    for (const { stop } of this.watched.values()) stop();
    this.watched.clear();
    this.#host.closed(this);
  }
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
