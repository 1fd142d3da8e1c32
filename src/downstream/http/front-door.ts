// Checks every request before it is interpreted, in this order. Can its head be read in only one
// way? Is it for us (Host, Origin, Sec-Fetch-Site)? Is there such a route, with this method? Who makes the request,
// and may they use the route? Then the body is read, and the handler of the route is called.
// routes.ts has the routes; nothing here knows one by name. An internal error costs one request and
// is reported; it never costs the process.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Fault } from '../../kernel/fault.ts';
import { RareLine } from '../../kernel/rare-line.ts';
import type { Strangers } from '../../kernel/strangers.ts';
import { principalProblem } from '../../policy/given-principal.ts';
import { isOperator, type Principal, sharingOwnerOf } from '../../policy/principal.ts';
import { rpcCodes } from '../../wire/eras.ts';
import { type Authentication, type Authenticator, credentialOf } from './access/authenticator.ts';
import { ConnectionShares } from './access/connection-shares.ts';
import { shareWith } from './access/cors.ts';
import type { HostCheck } from './access/host-check.ts';
import { PendingAuthentications } from './access/pending-authentications.ts';
import { type RefusedCounts, RefusedRequests } from './access/refused-requests.ts';
import { answerPlainly, refuseHttp, refuseRpc } from './answers.ts';
import { BodyBudget } from './body-budget.ts';
import { repeatedHeader } from './headers/repeated-header.ts';
import type { Edge } from './http-context.ts';
import { readJsonBody } from './json-body.ts';
import { notFoundAt } from './not-found.ts';
import type { Route, RouteEntry, RouteMethod, RouteTable } from './route-table.ts';

export interface FrontDoorParts {
  readonly edge: Edge;
  readonly hosts: HostCheck;
  /** Connections on which nobody was admitted yet. */
  readonly strangers: Pick<Strangers, 'known'>;
  readonly authenticator: Authenticator;
  readonly routes: RouteTable;
}

type GuardedEntry = Exclude<RouteEntry, { readonly access: 'public' }>;

export class FrontDoor {
  readonly #parts: FrontDoorParts;
  readonly #pending: PendingAuthentications;
  readonly #shares: ConnectionShares;
  readonly #refused: RefusedRequests;
  readonly #failures: RareLine;
  readonly #defects: RareLine;
  readonly #bodies: BodyBudget;

  constructor(parts: FrontDoorParts) {
    this.#parts = parts;
    this.#pending = new PendingAuthentications(parts.edge);
    this.#shares = new ConnectionShares(parts.edge.limits.connections, parts.edge.deadlines);
    this.#refused = new RefusedRequests(parts.edge.clock, parts.edge.inform);
    this.#failures = new RareLine(parts.edge.clock, parts.edge.report);
    this.#defects = new RareLine(parts.edge.clock, parts.edge.report);
    this.#bodies = new BodyBudget(parts.edge.limits.bodyBytesOfAll);
  }

  /** Requests that were refused before they were anybody's. */
  get refused(): RefusedCounts {
    return this.#refused.counts;
  }

  /** The access of these principals has ended, by id: so do their requests and streams. */
  endAccess(ids: ReadonlySet<string>): void {
    this.#shares.endAccess(ids);
  }

  /** A response is over. */
  over(res: ServerResponse): void {
    this.#shares.over(res);
  }

  handle(req: IncomingMessage, res: ServerResponse): void {
    try {
      this.#enter(req, res);
    } catch (error) {
      this.#defect(res, error);
    }
  }

  #enter(req: IncomingMessage, res: ServerResponse): void {
    if (this.#isAnsweredByHead(req, res)) return;
    const route = this.#parts.routes.find(req.url ?? '');
    if (route === undefined) return this.#notFound(req, res);
    const entry = route.entryFor(req.method);
    if (entry === undefined) {
      const { allow } = route;
      return refuseHttp(res, 405, `Method Not Allowed: allowed here: ${allow}`, ['Allow', allow]);
    }
    if (entry.access === 'public') this.#serve(route, entry, undefined, req, res);
    else this.#authenticate(route, entry, req, res);
  }

  /** Refuses a head that is ambiguous or not for us; answers preflight requests. */
  #isAnsweredByHead(req: IncomingMessage, res: ServerResponse): boolean {
    const { hosts, edge } = this.#parts;
    const { host, origin, 'sec-fetch-site': site } = req.headers;
    const { headers } = edge.limits;
    if (req.rawHeaders.length > 2 * headers) {
      const message = `Request Header Fields Too Large: a request may have ${headers} headers`;
      refuseHttp(res, 431, message);
      return true;
    }
    const repeated = repeatedHeader(req.rawHeaders);
    if (repeated !== undefined) {
      refuseHttp(res, 400, `Bad Request: the header ${repeated} is given twice`);
      return true;
    }
    // Who has passed it on has checked that.
    if (edge.isFromPeer?.(req.socket)) return false;
    const problem =
      hosts.hostProblem(host, req.socket.localAddress) ??
      hosts.originProblem(origin, host) ??
      hosts.siteProblem(site, origin);
    if (problem !== undefined) {
      refuseHttp(res, 403, `Forbidden: ${problem}`);
      return true;
    }
    return origin !== undefined && hosts.isListed(origin) && shareWith(origin, req, res);
  }

  #authenticate(
    route: Route,
    entry: GuardedEntry,
    req: IncomingMessage,
    res: ServerResponse,
  ): void {
    if (this.#pending.isFull) return refuseHttp(res, 503, tooManyWait, retryLater);
    let found: Authentication | Promise<Authentication>;
    try {
      found = this.#parts.authenticator.authenticate(credentialOf(req));
    } catch (error) {
      return this.#notAuthenticated(res, error);
    }
    if (!(found instanceof Promise)) return this.#admit(route, entry, found, req, res);
    this.#pending.wait(found, res, {
      answered: (answer) => {
        try {
          this.#admit(route, entry, answer, req, res);
        } catch (error) {
          this.#defect(res, error);
        }
      },
      failed: (error) => this.#notAuthenticated(res, error),
    });
  }

  #admit(
    route: Route,
    entry: GuardedEntry,
    { principal, challenge }: Authentication,
    req: IncomingMessage,
    res: ServerResponse,
  ): void {
    if (principal === undefined) {
      const { status, message, wwwAuthenticate } = challenge;
      if (status === 401) this.#refused.add(status, req);
      return refuseHttp(res, status, message, ['WWW-Authenticate', wwwAuthenticate]);
    }
    const problem = principalProblem(principal);
    if (problem !== undefined) return this.#notAuthenticated(res, new Fault('internal', problem));
    if (!this.#shares.admits(res, principal)) {
      return refuseHttp(res, 429, tooManyConnections, lastOfMany);
    }
    this.#parts.strangers.known(req.socket);
    if (entry.access === 'operator' && !isOperator(principal)) {
      return refuseHttp(res, 403, operatorsOnly);
    }
    const narrowed = route.principalFor(principal, req.url ?? '');
    if (narrowed === undefined) return this.#notFound(req, res);
    this.#serve(route, entry, narrowed, req, res);
  }

  #notFound(req: IncomingMessage, res: ServerResponse): void {
    this.#refused.add(404, req);
    answerPlainly(res, 404, notFoundAt(req.url ?? ''));
  }

  /** Reads the body, if the method takes one, and calls the handler. */
  #serve<Who extends Principal | undefined>(
    route: Route,
    { handle, body: limit }: RouteMethod<Who>,
    principal: Who,
    req: IncomingMessage,
    res: ServerResponse,
  ): void {
    const { url = '' } = req;
    const parameter = route.parameterIn(url);
    if (limit === undefined) {
      return handle({ req, res, principal, body: nothing, url, parameter });
    }
    const room = this.#bodies.open(principal && sharingOwnerOf(principal));
    readJsonBody(req, res, limit.maxBytes, room, (body) => {
      try {
        handle({ req, res, principal, body, url, parameter });
      } catch (error) {
        this.#defect(res, error);
      }
    });
  }

  /** The authenticator has failed: access is not granted, and it may work again soon. */
  #notAuthenticated(res: ServerResponse, error: unknown): void {
    this.#report(this.#failures, 'a failure of the authenticator', error);
    refuseHttp(res, 503, 'Service Unavailable: the credential could not be checked', retryLater);
  }

  #defect(res: ServerResponse, error: unknown): void {
    this.#report(this.#defects, 'a defect while serving a request', error);
    if (res.headersSent) res.destroy();
    else refuseRpc(res, 500, { code: rpcCodes.internalError, message: 'Internal error' });
  }

  #report(line: RareLine, what: string, error: unknown): void {
    const detail =
      error instanceof Error ? (error.stack ?? error.message) : `threw ${typeof error}`;
    this.#parts.edge.front.caught(error);
    line.say(() => `http: ${what}: ${detail}`);
  }
}

const nothing = Buffer.alloc(0);
const retryLater = ['Retry-After', '5'];
const lastOfMany = ['Connection', 'close', ...retryLater];
const tooManyConnections =
  'Too Many Requests: this principal has as many connections as one may have; close others first';
/** For somebody who cannot edit the config. */
const operatorsOnly =
  'Forbidden: the role of this credential is no operator of this gateway; ask whoever runs it';
const tooManyWait =
  'Service Unavailable: too many requests wait for their credential to be checked';
