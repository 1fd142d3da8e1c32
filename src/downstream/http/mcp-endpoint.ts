// POST /mcp: parses the body into a message and passes the message to its era. A body that is not
// JSON, not a message or ambiguous is refused here, and so is a message whose headers contradict
// its body. Methods are not interpreted: the gateway refuses unknown ones.

import { scanBatch } from '../../wire/batch.ts';
import { textOf } from '../../wire/decode.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import { internalError } from '../refusals.ts';
import { accept, refuseRpc, refuseUnreached, refuseWire } from './answers.ts';
import { eraOf } from './headers/era-of.ts';
import { readsEvents } from './headers/media-types.ts';
import { paramRefusal } from './headers/param-agreement.ts';
import type { Edge } from './http-context.ts';
import type { LegacyEndpoint } from './legacy/legacy-endpoint.ts';
import { ModernReply } from './modern-reply.ts';
import { unlessRefused } from './refused-json.ts';
import { carriedOne, endless } from './replicas/carried.ts';
import { refuseMoved } from './replicas/forward.ts';
import type { PassingOn, ToHolder } from './replicas/passing-on.ts';
import type { RequestContext } from './route-table.ts';

export class McpEndpoint {
  readonly #edge: Edge;
  readonly #legacy: LegacyEndpoint;
  readonly #passing: PassingOn;
  /** Streams that listen, until they are closed; a client may have only so many. */
  readonly #endless = new Set<ModernReply>();

  constructor(edge: Edge, legacy: LegacyEndpoint, passing: PassingOn) {
    this.#edge = edge;
    this.#legacy = legacy;
    this.#passing = passing;
  }

  post(context: RequestContext): void {
    const { body } = context;
    const message = unlessRefused(() => scanMessage(body));
    if (!(message instanceof WireError)) return this.#route(message, context);
    const error = message.reason === 'batch' ? this.#batch(context) : message;
    if (error !== undefined) refuseWire(context.res, error, error.id);
  }

  /** Ends what would never end by itself. */
  endStreams(): void {
    for (const reply of [...this.#endless]) reply.cancel();
  }

  #route(message: Message, context: RequestContext): void {
    const verdict = eraOf(message, context.req.headers);
    switch (verdict.kind) {
      case 'modern':
        return this.#modern(message, context);
      case 'legacy':
        return this.#legacy.post(message, context);
      case 'refused': {
        const id = message.kind === 'request' ? message.id : null;
        return refuseRpc(context.res, 400, verdict.refusal, id);
      }
    }
  }

  #modern(message: Message, context: RequestContext): void {
    const { res, principal } = context;
    const { front } = this.#edge;
    const from = { principal, client: principal.id };
    if (message.kind === 'notification') {
      // Over HTTP a request is cancelled by closing its connection, and by nothing else.
      if (message.method !== 'notifications/cancelled') front.notified(message, from);
      return accept(res);
    }
    const holder = this.#edge.peers && front.holderOf?.(message, principal);
    if (holder !== undefined && this.#passing.mayPassOn(holder, context)) {
      return this.#passOn(message, context, () =>
        this.#passing.toHolder(holder, context, carriedOne(message), true),
      );
    }
    if (holder === undefined && this.#passing.isMisplaced(context)) return refuseMoved(res);
    if (holder === undefined && this.#passing.handsOver(context)) {
      return this.#passOn(message, context, () =>
        this.#passing.toAnother(context, carriedOne(message), true),
      );
    }
    this.#here(message, context);
  }

  /** To another replica, or on with it here if that one is gone. */
  #passOn(
    message: Message,
    context: RequestContext,
    pass: () => Promise<ToHolder | boolean>,
  ): void {
    pass()
      .then((outcome) => {
        if (outcome === true || outcome === 'answered' || context.res.closed) return;
        if (outcome === 'unknown') refuseUnreached(context.res);
        else this.#here(message, context);
      })
      .catch((error: unknown) => {
        this.#edge.front.caught(error);
        if (context.res.headersSent) context.res.destroy();
        else refuseRpc(context.res, 500, internalError, message.id);
      });
  }

  #here(message: Message, context: RequestContext): void {
    const { req, res, principal } = context;
    const { front } = this.#edge;
    const from = { principal, client: principal.id };
    if (message.method === 'tools/call' && !this.#doArgumentsAgree(message, context)) return;
    const reply = new ModernReply(res, this.#edge, readsEvents(req.headers.accept));
    if (message.method === endless) {
      this.#endless.add(reply);
      res.on('close', () => this.#endless.delete(reply));
    }
    reply.taken(front.request(message, from, reply));
  }

  #doArgumentsAgree(message: Message, { req, res, principal }: RequestContext): boolean {
    const name = message.paramsObject?.find('name');
    const tool = name === undefined ? undefined : textOf(message.bytes, name);
    const schema = tool === undefined ? undefined : this.#edge.front.inputSchemaOf(tool, principal);
    if (schema === undefined) return true;
    const refusal = unlessRefused(() => paramRefusal(message, schema, req.headers));
    if (refusal === undefined) return true;
    if (refusal instanceof WireError) refuseWire(res, refusal, message.id);
    else refuseRpc(res, 400, refusal, message.id);
    return false;
  }

  #batch(context: RequestContext): WireError | undefined {
    const { body } = context;
    const messages = unlessRefused(() => scanBatch(body).map((one) => scanMessage(one)));
    if (messages instanceof WireError) return messages;
    this.#legacy.batch(messages, context);
    return undefined;
  }
}
