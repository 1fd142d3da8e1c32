// For every request, the questions that come before its meaning, in this order. Can its head be read
// in one way only? Is it for us (Host, Origin)? Is there such a place, and may this be asked of it? Who asks? Is the body JSON, and not
// too much of it? Only then is it read, and handed to the place that was asked for. A defect of
// ours behind the door costs one request and is reported; it never costs the process.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { localUser, type Principal } from '../../policy/principal.ts';
import { rpcCodes } from '../../wire/eras.ts';
import { shareWith } from './access/cors.ts';
import type { HostCheck } from './access/host-check.ts';
import type { Tokens } from './access/tokens.ts';
import { answerPlainly, refuseHttp, refuseRpc } from './answers.ts';
import { readBody } from './body.ts';
import { invite } from './expectation.ts';
import { isJson } from './headers/media-types.ts';
import { repeatedHeader } from './headers/repeated-header.ts';
import type { Edge } from './http-context.ts';
import type { LegacyEndpoint } from './legacy/legacy-endpoint.ts';
import type { OldTransport } from './legacy/sse-2024.ts';
import type { McpEndpoint } from './mcp-endpoint.ts';
import { allowedInstead, type Route, routeOf } from './routes.ts';

export interface FrontDoorParts {
  readonly edge: Edge;
  readonly hosts: HostCheck;
  /** undefined: everyone who can reach us is the local user. */
  readonly tokens: Tokens | undefined;
  readonly mcp: McpEndpoint;
  readonly legacy: LegacyEndpoint;
  readonly old: OldTransport;
  readonly identity: { readonly name: string; readonly version: string };
  readonly isReady: () => boolean;
}

type Taker = (body: Buffer, req: IncomingMessage, res: ServerResponse, who: Principal) => void;

const bearer = /^Bearer +([\x21-\x7e]+)$/i;

export class FrontDoor {
  readonly #parts: FrontDoorParts;
  readonly #toMcp: Taker;
  readonly #toOld: Taker;

  constructor(parts: FrontDoorParts) {
    this.#parts = parts;
    this.#toMcp = (body, req, res, who) => parts.mcp.post(body, req, res, who);
    this.#toOld = (body, req, res, who) => parts.old.post(body, req, res, who);
  }

  handle(req: IncomingMessage, res: ServerResponse): void {
    try {
      this.#enter(req, res);
    } catch (error) {
      this.#defect(res, error);
    }
  }

  #enter(req: IncomingMessage, res: ServerResponse): void {
    const { hosts } = this.#parts;
    const { host, origin } = req.headers;
    const { headers } = this.#parts.edge.limits;
    if (req.rawHeaders.length > 2 * headers) {
      const message = `Request Header Fields Too Large: a request may have ${headers} headers`;
      return refuseHttp(res, 431, message);
    }
    const repeated = repeatedHeader(req.rawHeaders);
    if (repeated !== undefined) {
      return refuseHttp(res, 400, `Bad Request: the header ${repeated} is given twice`);
    }
    const problem =
      hosts.hostProblem(host, req.socket.localAddress) ?? hosts.originProblem(origin, host);
    if (problem !== undefined) return refuseHttp(res, 403, `Forbidden: ${problem}`);
    if (origin !== undefined && hosts.isListed(origin) && shareWith(origin, req, res)) return;
    const route = routeOf(req.url ?? '');
    if (route === undefined) return answerPlainly(res, 404, notFound);
    const allowed = allowedInstead(route, req.method);
    if (allowed !== undefined) {
      return refuseHttp(res, 405, `Method Not Allowed: here is only ${allowed}`, [
        'Allow',
        allowed,
      ]);
    }
    if (route === 'healthz' || route === 'readyz') return this.#health(route, res);
    const principal = this.#principalOf(req, res);
    if (principal !== undefined) this.#serve(route, req, res, principal);
  }

  #serve(route: Route, req: IncomingMessage, res: ServerResponse, principal: Principal): void {
    const { legacy, old } = this.#parts;
    if (req.method === 'POST') {
      return this.#take(req, res, principal, route === 'mcp' ? this.#toMcp : this.#toOld);
    }
    if (route === 'sse') return old.open(req, res, principal);
    if (req.method === 'GET') legacy.get(req, res, principal);
    else legacy.delete(req, res, principal);
  }

  /** Who asks, by the token alone; or the answer that we do not know. */
  #principalOf(req: IncomingMessage, res: ServerResponse): Principal | undefined {
    const { tokens } = this.#parts;
    if (tokens === undefined) return localUser;
    const header = req.headers.authorization;
    const secret = header === undefined ? undefined : bearer.exec(header)?.[1];
    const principal = secret === undefined ? undefined : tokens.verify(secret);
    if (principal !== undefined) return principal;
    const challenge = `Bearer realm="holdfast"${header === undefined ? '' : ', error="invalid_token"'}`;
    const message =
      header === undefined
        ? 'Unauthorized: send the header "Authorization: Bearer TOKEN"'
        : 'Unauthorized: the token is not valid here';
    refuseHttp(res, 401, message, ['WWW-Authenticate', challenge]);
    return undefined;
  }

  /** Reads the body and hands it on. */
  #take(req: IncomingMessage, res: ServerResponse, principal: Principal, taker: Taker): void {
    if (!isJson(req.headers['content-type'])) {
      return refuseHttp(
        res,
        415,
        'Unsupported Media Type: the Content-Type must be application/json',
      );
    }
    const encoding = req.headers['content-encoding'];
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      const message = 'Unsupported Media Type: the body must be sent without a Content-Encoding';
      return refuseHttp(res, 415, message, ['Accept-Encoding', 'identity']);
    }
    const { bodyBytes } = this.#parts.edge.limits;
    const isTooLong = Number(req.headers['content-length']) > bodyBytes;
    if (!isTooLong) invite(req, res);
    readBody(req, bodyBytes, (body) => {
      if (body === undefined) {
        return refuseHttp(res, 413, `Content Too Large: a body may have ${bodyBytes} bytes`);
      }
      try {
        taker(body, req, res, principal);
      } catch (error) {
        this.#defect(res, error);
      }
    });
  }

  #health(route: Route, res: ServerResponse): void {
    const { identity, isReady } = this.#parts;
    if (route === 'healthz') return answerPlainly(res, 200, { ok: true, ...identity });
    const ready = isReady();
    answerPlainly(res, ready ? 200 : 503, { ready });
  }

  #defect(res: ServerResponse, error: unknown): void {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const { edge } = this.#parts;
    edge.front.caught(error);
    edge.report(`http: a defect while serving a request: ${detail}`);
    if (res.headersSent) res.destroy();
    else refuseRpc(res, 500, { code: rpcCodes.internalError, message: 'Internal error' });
  }
}

const notFound = {
  error: 'not found: MCP is spoken at /mcp, and at /sse for clients of 2024-11-05',
};
