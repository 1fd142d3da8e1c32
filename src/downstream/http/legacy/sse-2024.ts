// The HTTP+SSE transport of 2024-11-05: the client opens one stream, gets on it the address for its
// messages, and all messages to the client, including answers, come on that stream. The stream is
// the session: when it ends, so does the client. What it says to set the session up counts with that of
// the other legacy sessions of its owner, but is not stored. Where there are several
// replicas, the address names the one that has the stream; one that shuts down passes new clients on to another, and
// ends the streams of its own as soon as nothing runs for them, so that they come again.

import type { ServerResponse } from 'node:http';
import { ownerOf, type Principal } from '../../../policy/principal.ts';
import { errorFrame, type Frame, idText } from '../../../wire/frames.ts';
import { type Message, scanMessage } from '../../../wire/scan.ts';
import { WireError } from '../../../wire/wire-error.ts';
import { ClientSetup } from '../../clients/client-setup.ts';
import type { Outlet, Reply, Session } from '../../contract.ts';
import { internalError, invalidParams } from '../../refusals.ts';
import { accept, refuseHttp, refuseRpc, refuseUnreached, refuseWire } from '../answers.ts';
import { readsEvents } from '../headers/media-types.ts';
import type { Edge } from '../http-context.ts';
import { unlessRefused } from '../refused-json.ts';
import { nothing } from '../replicas/carried.ts';
import { refuseMoved } from '../replicas/forward.ts';
import type { PassingOn, ToHolder } from '../replicas/passing-on.ts';
import type { RequestContext } from '../route-table.ts';
import { EventStream } from './event-response.ts';
import { KeepingReply } from './keeping-reply.ts';
import { tooManySessions } from './legacy-endpoint.ts';
import { sessionGone } from './legacy-reply.ts';
import { isSamePrincipal, newSessionId, type Sessions } from './sessions.ts';
import type { SetUpSession } from './setup-bytes.ts';

/** So often it is looked whether something still runs for a client. */
const quietMs = 100;

export class OldTransport {
  readonly #edge: Edge;
  /** The other transport's, which count against the same limit. */
  readonly #others: Sessions;
  /** By session id, until the stream ends; at most `limits.sessions` with the others. */
  readonly #clients = new Map<string, OldClient>();
  readonly #passing: PassingOn;
  #ending: Disposable | undefined;

  constructor(edge: Edge, others: Sessions, passing: PassingOn) {
    this.#edge = edge;
    this.#others = others;
    this.#passing = passing;
  }

  /** GET /sse */
  open(context: RequestContext): void {
    const { res } = context;
    if (this.#passing.isMisplaced(context)) return refuseMoved(res);
    if (!this.#passing.handsOver(context)) return this.#open(context);
    this.#passOn(this.#passing.toAnother(context, nothing, false), res, () => this.#open(context));
  }

  #open({ req, res, principal }: RequestContext): void {
    if (!readsEvents(req.headers.accept)) {
      return refuseHttp(res, 406, 'Not Acceptable: /sse is answered with text/event-stream');
    }
    if (!this.#others.isWithinShare(principal, 0)) return refuseHttp(res, 429, tooManySessions);
    if (this.#clients.size + this.#others.size >= this.#edge.limits.sessions) {
      return refuseHttp(res, 503, 'Service Unavailable: too many sessions are in use');
    }
    const gone = this.#others.counted(principal);
    const { peers } = this.#edge;
    const id = peers === undefined ? newSessionId() : `${newSessionId()}.${peers.id}`;
    const endpoint = `/messages?sessionId=${id}`;
    const client = new OldClient(res, this.#edge, principal, endpoint, (ended) => {
      this.#clients.delete(id);
      this.#others.setups.weigh(ended, 0);
      gone();
    });
    if (client.isOpen) this.#clients.set(id, client);
    else gone();
  }

  /** POST /messages?sessionId=… */
  post(context: RequestContext): void {
    const { res, principal, body, url } = context;
    const id = sessionInQuery(url) ?? '';
    const client = this.#clients.get(id);
    const holder = id.split('.')[1];
    if (client === undefined && holder !== undefined && this.#passing.mayPassOn(holder, context)) {
      const passing = this.#passing.toHolder(holder, context, nothing, false);
      return this.#passOn(passing, res, () => refuseRpc(res, 404, sessionGone));
    }
    if (client === undefined || !isSamePrincipal(client.principal, principal)) {
      return refuseRpc(res, 404, sessionGone);
    }
    const message = unlessRefused(() => scanMessage(body));
    if (message instanceof WireError) return refuseWire(res, message, message.id);
    this.#take(client, message);
    accept(res);
  }

  /** To another replica; `otherwise` if that has done nothing. */
  #passOn(passing: Promise<ToHolder | boolean>, res: ServerResponse, otherwise: () => void): void {
    passing
      .then((outcome) => {
        if (outcome === true || outcome === 'answered' || res.closed) return;
        if (outcome === 'unknown') refuseUnreached(res);
        else otherwise();
      })
      .catch((error: unknown) => {
        this.#edge.front.caught(error);
        if (res.headersSent) res.destroy();
        else refuseRpc(res, 500, internalError);
      });
  }

  #take(client: OldClient, message: Message): void {
    if (message.kind !== 'request') return client.receive(message, undefined);
    if (!ClientSetup.concerns(message.method)) return client.receive(message, client);
    const { setups } = this.#others;
    const { params, method } = message;
    // As for a session of the other transport, idle ones make room for a new one.
    if (method === 'initialize' && params) {
      this.#others.makeRoom(client.principal, params.end - params.start);
    }
    const refusal = setups.refusal(client, message);
    if (refusal !== undefined) {
      return client.answer(errorFrame(idText(message), invalidParams(refusal)));
    }
    const keep = async (request: Message) => setups.noted(client, request);
    const taken = setups.taken(client, message);
    const caught = (error: unknown) => this.#edge.front.caught(error);
    client.receive(message, new KeepingReply({ reply: client, message, taken, keep, caught }));
  }

  /** The access of these principals has ended, by id. */
  endAccess(ids: ReadonlySet<string>): void {
    for (const client of [...this.#clients.values()]) {
      if (ids.has(ownerOf(client.principal).id)) client.endAccess();
    }
  }

  /** This replica shuts down, and others go on: each client comes to one of them when nothing runs for it here. */
  endQuiet(): void {
    this.#ending?.[Symbol.dispose]();
    for (const client of [...this.#clients.values()]) if (!client.isBusy) client.end();
    if (this.#clients.size === 0) return;
    this.#ending = this.#edge.clock.after(quietMs, () => this.endQuiet(), true);
  }

  endAll(): void {
    this.#ending?.[Symbol.dispose]();
    for (const client of [...this.#clients.values()]) client.end();
  }
}

/** One client; everything is sent to it in the same way. */
class OldClient implements Outlet, Reply, SetUpSession {
  readonly principal: Principal;
  readonly setup = new ClientSetup();
  setupBytes = 0;
  askedBytes = 0;
  readonly #stream: EventStream;
  readonly #session: Session;

  constructor(
    res: ServerResponse,
    edge: Edge,
    principal: Principal,
    endpoint: string,
    gone: (client: OldClient) => void,
  ) {
    this.principal = principal;
    this.#stream = new EventStream(res, edge, [], () => {
      gone(this);
      this.#session?.close();
    });
    this.#stream.raw(`event: endpoint\ndata: ${endpoint}\n\n`);
    this.#session = edge.front.openSession(principal, this);
    if (!this.isOpen) this.#session.close();
  }

  get isOpen(): boolean {
    return this.#stream.isOpen;
  }

  get isClosed(): boolean {
    return !this.isOpen;
  }

  get isBusy(): boolean {
    return this.#session.inFlight > 0;
  }

  receive(message: Message, reply: Reply | undefined): void {
    this.#session.receive(message, reply);
  }

  send(frame: Frame, kind?: string): void {
    if (!this.#stream.holds(kind, frame)) this.#stream.message(frame);
  }

  answer(frame: Frame): void {
    this.#stream.message(frame);
  }

  endAccess(): void {
    this.#session.endAccess?.();
    this.end();
  }

  end(): void {
    this.#stream.end();
  }
}

/** The session that a message is for. */
export function sessionInQuery(url: string): string | undefined {
  const end = url.indexOf('?');
  if (end === -1) return undefined;
  return new URLSearchParams(url.slice(end + 1)).get('sessionId') ?? undefined;
}
