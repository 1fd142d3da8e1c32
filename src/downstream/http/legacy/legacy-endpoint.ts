// The legacy era at /mcp: `initialize` opens a session and every later request names the session in
// a header. A POST has messages of the client, a GET opens a stream for unsolicited messages or
// resumes a broken one, a DELETE ends the session. Only the version 2025-03-26 may send several
// messages as a batch.

import type { ServerResponse } from 'node:http';
import { contain } from '../../../kernel/contain.ts';
import type { Principal } from '../../../policy/principal.ts';
import { batchVersion, legacyVersions, rpcCodes } from '../../../wire/eras.ts';
import { type ErrorToSend, errorFrame, idText } from '../../../wire/frames.ts';
import type { Message } from '../../../wire/scan.ts';
import { ClientSetup } from '../../clients/client-setup.ts';
import { judgeEnvelope } from '../../clients/modern-envelope.ts';
import type { Reply, Underway } from '../../contract.ts';
import { internalError, invalidParams } from '../../refusals.ts';
import { accept, refuseHttp, refuseRpc, refuseUnreached, retryLater } from '../answers.ts';
import { isModernVersion } from '../headers/era-of.ts';
import { readsEvents } from '../headers/media-types.ts';
import type { Edge } from '../http-context.ts';
import {
  type Carried,
  carriedOne,
  isNewWork,
  nothing,
  requestsIn,
  resumesAnswer,
} from '../replicas/carried.ts';
import { refuseMoved } from '../replicas/forward.ts';
import type { PassingOn } from '../replicas/passing-on.ts';
import { Elsewhere } from '../replicas/peers.ts';
import type { RequestContext } from '../route-table.ts';
import type { HttpSession } from './http-session.ts';
import { KeepingReply } from './keeping-reply.ts';
import { ElementReply, LegacyReply, OpeningReply, sessionGone } from './legacy-reply.ts';
import type { FoundSession, Sessions } from './sessions.ts';

const known: ReadonlySet<string> = new Set(legacyVersions);

export class LegacyEndpoint {
  readonly #edge: Edge;
  readonly #sessions: Sessions;
  readonly #passing: PassingOn;

  constructor(edge: Edge, sessions: Sessions, passing: PassingOn) {
    this.#edge = edge;
    this.#sessions = sessions;
    this.#passing = passing;
  }

  /** One message of the client. */
  post(message: Message, context: RequestContext): void {
    const { req, res, principal } = context;
    const id = req.headers['mcp-session-id'];
    if (message.kind === 'request' && message.method === 'initialize' && id === undefined) {
      if (this.#passing.isMisplaced(context)) return refuseMoved(res);
      const open = () => this.#open(message, res, principal);
      if (!this.#passing.handsOver(context)) return open();
      return this.#handOver(context, carriedOne(message), open);
    }
    const carried = carriedOne(message);
    this.#inSession(context, carried, (session) => this.#message(session, message, context));
  }

  #message(session: HttpSession, message: Message, context: RequestContext): void {
    const { res } = context;
    if (message.kind === 'request' && message.method === 'initialize') {
      return refuseRpc(res, 400, alreadyOpen, message.id);
    }
    if (message.kind !== 'request') {
      session.receive(message, undefined);
      return this.#orFormer(session, context, carriedOne(message), () => accept(res));
    }
    const reply = this.#reply(session, 1, false, context);
    const refusal = this.#sessions.setups.refusal(session, message);
    if (refusal !== undefined) return refuseSetup(reply, message, refusal);
    reply.taken(session.receive(message, this.#kept(session, message, reply)));
  }

  /** The answer to what sets the session up waits until that is stored; until then it counts as asked for. */
  #kept(session: HttpSession, message: Message, reply: Reply): Reply {
    if (!ClientSetup.concerns(message.method)) return reply;
    return this.#keeping(session, message, reply, this.#sessions.setups.taken(session, message));
  }

  #keeping(session: HttpSession, message: Message, reply: Reply, taken?: Disposable): Reply {
    const keep = (request: Message) => this.#sessions.keep(session, request);
    const caught = (error: unknown) => this.#edge.front.caught(error);
    return new KeepingReply({ reply, message, taken, keep, caught });
  }

  /** The elements of a batch. */
  batch(messages: readonly Message[], context: RequestContext): void {
    const { req, res } = context;
    const refusal = batchRefusal(messages, isModernVersion(req.headers['mcp-protocol-version']));
    if (refusal !== undefined) return refuseRpc(res, 400, refusal);
    const carried = { messages, isBatch: true };
    this.#inSession(context, carried, (session) => this.#elements(session, carried, context));
  }

  #elements(session: HttpSession, carried: Carried, context: RequestContext): void {
    const { res } = context;
    const { messages } = carried;
    if (session.protocolVersion !== batchVersion) return refuseRpc(res, 400, noBatches);
    const requests = requestsIn(carried).length;
    if (requests === 0) {
      for (const message of messages) this.#oneOfBatch(session, message, undefined);
      return this.#orFormer(session, context, carried, () => accept(res));
    }
    const reply = this.#reply(session, requests, true, context);
    const underway = messages.map((message) =>
      this.#oneOfBatch(session, message, message.kind === 'request' ? reply : undefined),
    );
    reply.taken({
      cancel: () => {
        for (const one of underway) one?.cancel();
      },
    });
  }

  /** An unexpected error costs this one message: the others of the batch are answered. */
  #oneOfBatch(session: HttpSession, message: Message, reply: Reply | undefined) {
    const own = reply && new ElementReply(reply);
    const refusal = own && this.#sessions.setups.refusal(session, message);
    if (refusal !== undefined) {
      refuseSetup(own, message, refusal);
      return undefined;
    }
    let underway: Underway | undefined;
    contain(
      () => {
        underway = session.receive(message, own && this.#kept(session, message, own));
      },
      (error) => {
        this.#edge.front.caught(error);
        own?.answer(errorFrame(idText(message), internalError));
      },
    );
    return underway;
  }

  /** A stream for unsolicited messages, or the rest of a broken one. */
  get(context: RequestContext): void {
    const { req, res } = context;
    if (isModernVersion(req.headers['mcp-protocol-version'])) return onlyPost(res);
    if (!readsEvents(req.headers.accept)) {
      return refuseHttp(res, 406, 'Not Acceptable: a GET is answered with text/event-stream');
    }
    this.#inSession(context, nothing, (session) => this.#listen(session, context));
  }

  #listen(session: HttpSession, context: RequestContext): void {
    const { req, res } = context;
    const lastEventId = req.headers['last-event-id'];
    if (typeof lastEventId !== 'string') return session.listen(res);
    const resumption = session.resume(res, lastEventId);
    if (resumption === 'unknown') {
      return this.#orFormer(session, context, nothing, () => refuseRpc(res, 400, eventGone));
    }
    // A stream that ended at once would make the client reconnect again and again; this prevents
    // it.
    if (resumption === 'over') refuseHttp(res, 405, streamOver, ['Allow', 'POST, DELETE']);
  }

  delete(context: RequestContext): void {
    const { req, res } = context;
    if (isModernVersion(req.headers['mcp-protocol-version'])) return onlyPost(res);
    this.#inSession(context, nothing, (session) => {
      const ended = () => {
        res.writeHead(204);
        res.end();
      };
      const failed = (error: unknown) => this.#failed(res, null, error);
      const former = this.#formerOf(session, context);
      this.#sessions
        .end(session)
        .then(async () => {
          // Its calls may still run where it was before.
          const outcome = former && (await this.#passing.toFormer(former, context, nothing));
          if (outcome !== 'answered' && !res.closed) ended();
        })
        .catch(failed);
    });
  }

  /** The replica that had the session before this one, if it is to be asked. */
  #formerOf({ former }: HttpSession, context: RequestContext): string | undefined {
    // Of processes that have replaced each other every one asks the one before it.
    const isPassedOn = this.#passing.isForFormer(context) && !this.#edge.peers?.isOneMachine;
    return isPassedOn ? undefined : former;
  }

  #open(message: Message, res: ServerResponse, principal: Principal): void {
    const refusal = new ClientSetup().refusal(message);
    if (refusal !== undefined) return refuseRpc(res, 400, invalidParams(refusal), message.id);
    const bytes = message.params ? message.params.end - message.params.start : 0;
    const session = this.#sessions.open(principal, bytes);
    if (session === undefined && !this.#sessions.isWithinShare(principal, bytes)) {
      return refuseHttp(res, 429, tooManySessions, retryLater);
    }
    if (session === undefined) {
      return refuseHttp(res, 503, 'Service Unavailable: too many sessions are in use', retryLater);
    }
    const reply = new OpeningReply(res, this.#edge, session, () => this.#sessions.drop(session));
    // Its bytes are counted since it was opened.
    session.receive(message, this.#keeping(session, message, reply));
  }

  #reply(
    session: HttpSession,
    expected: number,
    isBatch: boolean,
    { req, res }: RequestContext,
  ): LegacyReply {
    const edge = this.#edge;
    const doesRead = readsEvents(req.headers.accept);
    return new LegacyReply({ res, edge, session, readsEvents: doesRead, expected, isBatch });
  }

  /** To another replica, or on with it here if there is none. */
  #handOver(context: RequestContext, carried: Carried, here: () => void): void {
    const id = idIn(carried);
    this.#passing
      .toAnother(context, carried, false)
      .then((isPassedOn) => {
        if (!isPassedOn && !context.res.closed) here();
      })
      .catch((error: unknown) => this.#failed(context.res, id, error));
  }

  /** What the replica that had the session may know: passed on there; `here` if that has nothing of it. */
  #orFormer(
    session: HttpSession,
    context: RequestContext,
    carried: Carried,
    here: () => void,
  ): void {
    const former = this.#formerOf(session, context);
    const { res, req } = context;
    const mayBeIts = resumesAnswer(req) || carried.messages.some(isOfRunning);
    if (former === undefined || !mayBeIts) return here();
    this.#passing
      .toFormer(former, context, carried)
      .then((outcome) => {
        if (outcome === 'gone') session.former = undefined;
        if (outcome === 'answered' || res.closed) return;
        if (outcome === 'unknown') refuseUnreached(res);
        else here();
      })
      .catch((error: unknown) => this.#failed(res, null, error));
  }

  /** Goes on in the session that a request names, or answers that there is none. */
  #inSession(context: RequestContext, carried: Carried, go: (session: HttpSession) => void): void {
    const { req, res, principal } = context;
    const id = req.headers['mcp-session-id'];
    const requestId = idIn(carried);
    if (typeof id !== 'string') return refuseRpc(res, 400, sessionMissing, requestId);
    if (this.#passing.isForFormer(context)) {
      const left = this.#sessions.left(id, principal);
      return left === undefined ? refuseMoved(res) : go(left);
    }
    const failed = (error: unknown) => this.#failed(res, requestId, error);
    const goOn = (session: HttpSession) => {
      const version = req.headers['mcp-protocol-version'];
      const isKnown = version === undefined || (typeof version === 'string' && known.has(version));
      if (!isKnown) return refuseRpc(res, 400, unknownVersion(String(version)), requestId);
      // What was begun here is answered and cancelled here; new work is not.
      const isNew = isNewWork(req, carried);
      if (isNew && this.#passing.isMisplaced(context)) return refuseMoved(res);
      if (!isNew || !this.#passing.handsOver(context)) return go(session);
      this.#handOver(context, carried, () => go(session));
    };
    const found = (session: FoundSession | 'answered') => {
      if (res.closed || session === 'answered') return;
      if (session === 'unavailable') return refuseHttp(res, 503, sessionUnread, retryLater);
      if (session instanceof Elsewhere) {
        this.#passing.inSession(id, session, context, carried).then(found).catch(failed);
        return;
      }
      const isThere = session !== undefined && !session.isClosed;
      if (isThere) return goOn(session);
      const gone = () => refuseRpc(res, 404, sessionGone, requestId);
      // A process that was replaced before the client has come may have given it on.
      if (this.#passing.handsOver(context)) this.#handOver(context, carried, gone);
      else gone();
    };
    const session = this.#sessions.find(id, principal);
    if (!(session instanceof Promise)) return found(session);
    session.then(found).catch(failed);
  }

  /** An unexpected error after the request was accepted. */
  #failed(res: ServerResponse, requestId: Message['id'] | null, error: unknown): void {
    this.#edge.front.caught(error);
    if (res.headersSent) res.destroy();
    else refuseRpc(res, 500, internalError, requestId);
  }
}

function batchRefusal(messages: readonly Message[], isModern: boolean): ErrorToSend | undefined {
  if (messages.length === 0) return invalid('the batch is empty');
  if (isModern || messages.some((message) => judgeEnvelope(message).kind !== 'none')) {
    return noBatches;
  }
  return messages.some(({ method }) => method === 'initialize')
    ? invalid('initialize must not be part of a batch')
    : undefined;
}

/** What the client says would be lost with this process. */
function refuseSetup(reply: Reply | undefined, message: Message, refusal: string): void {
  const error = invalidParams(refusal);
  reply?.answer(errorFrame(idText(message), error), error.code);
}

function onlyPost(res: ServerResponse): void {
  refuseHttp(res, 405, 'Method Not Allowed: this revision has only POST', ['Allow', 'POST']);
}

export const tooManySessions =
  'Too Many Requests: this principal has as many sessions in use as one may have; end others first';
const sessionUnread =
  'Service Unavailable: it cannot be said now whether there is this session; try again';
const streamOver = 'Method Not Allowed: this stream has ended';
const noBatches = invalid(`only the revision ${batchVersion} has batches; send each message alone`);
const alreadyOpen = invalid(
  'the session has been initialized; leave out Mcp-Session-Id for another',
);
const sessionMissing = invalid(
  'the header Mcp-Session-Id is missing; the response to initialize has it',
);
const eventGone = invalid(
  'the event in Last-Event-ID is no longer stored, so it is not known what came of its request; check before you send it again',
);

/** Of the one request that it is, if it is one. */
function idIn({ messages: [message], isBatch }: Carried): Message['id'] | null {
  return message?.kind === 'request' && !isBatch ? message.id : null;
}

/** Whether it is about a request that runs: of a server to the client, or of the client. */
function isOfRunning({ kind, method }: Message): boolean {
  if (kind !== 'notification') return kind !== 'request';
  return method === 'notifications/cancelled' || method === 'notifications/progress';
}

function unknownVersion(version: string): ErrorToSend {
  return invalid(`MCP-Protocol-Version ${version} is not one of ${legacyVersions.join(', ')}`);
}

function invalid(detail: string): ErrorToSend {
  return { code: rpcCodes.invalidRequest, message: `Invalid Request: ${detail}` };
}
