// The listening socket and its lifecycle. It accepts no more connections than it can serve, and
// answers those beyond with 503; a request must arrive within a time limit. On close nothing new is
// accepted, streams end, running requests get a moment, and then nothing is left open.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, within } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import { Deadlines } from '../../kernel/deadlines.ts';
import { errnoOf } from '../../kernel/errno.ts';
import type { KeptSockets } from '../../kernel/kept-sockets.ts';
import { openFileShares } from '../../kernel/open-files.ts';
import { RareLine } from '../../kernel/rare-line.ts';
import { Strangers } from '../../kernel/strangers.ts';
import type { Cut, Principal } from '../../policy/principal.ts';
import type { Records } from '../../store/contract/records.ts';
import type { GatewayForTransports } from '../contract.ts';
import { OutgoingBudget } from '../outgoing/outgoing-budget.ts';
import { type Authenticator, everyoneIsLocal } from './access/authenticator.ts';
import { HostCheck } from './access/host-check.ts';
import {
  assertGuarded,
  type ListenAddress,
  listenAddress,
  listenFault,
  urlOf,
} from './access/listen-address.ts';
import { portHolder } from './access/port-holder.ts';
import type { RefusedCounts } from './access/refused-requests.ts';
import { refuseHttp } from './answers.ts';
import { holdBack } from './expectation.ts';
import { FrontDoor } from './front-door.ts';
import type { Edge } from './http-context.ts';
import { defaultLimits, type HttpLimits, limitsWithin } from './http-limits.ts';
import { KeptSessions } from './legacy/kept-sessions.ts';
import { LegacyEndpoint } from './legacy/legacy-endpoint.ts';
import { Sessions } from './legacy/sessions.ts';
import { OldTransport } from './legacy/sse-2024.ts';
import { McpEndpoint } from './mcp-endpoint.ts';
import { OpenConnections } from './open-connections.ts';
import { PassingOn } from './replicas/passing-on.ts';
import type { Peers } from './replicas/peers.ts';
import { FormerFront, type ToSuccessor } from './rollout/former-front.ts';
import { handleOf, type SocketHandle, socketOf, whenItSpeaks } from './rollout/handed-socket.ts';
import type { ToldOfSessions } from './rollout/session-news.ts';
import { RouteTable } from './route-table.ts';
import { httpRoutes, type Readiness } from './routes.ts';

export interface HttpConfig {
  /** HOST:PORT; port 0 takes any that is free. */
  readonly listen: string;
  readonly auth: 'token' | 'none';
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

export interface HttpOptions {
  readonly front: GatewayForTransports;
  readonly config: HttpConfig;
  readonly clock: Clock;
  /** Needed unless `auth` is `none`. */
  readonly authenticator?: Authenticator | undefined;
  /** Who we say we are at /healthz. */
  readonly identity: { readonly name: string; readonly version: string };
  /** One line for the operator. */
  readonly report: (line: string) => void;
  /** The same for what is no trouble, such as a refused request; absent: it is only counted. */
  readonly inform?: (line: string) => void;
  readonly limits?: Partial<HttpLimits>;
  /** Shared with other transports of this process. */
  readonly outgoing?: OutgoingBudget;
  /** Where legacy sessions are stored, so that they outlive this process; absent: they do not. */
  readonly sessions?: Records | undefined;
  /** Everybody who has access, if that is known: stored sessions of others are forgotten. */
  readonly principals?: readonly Principal[] | undefined;
  /** The other replicas, where there may be some. */
  readonly peers?: Peers | undefined;
  /** Where its socket outlives this process; absent: nowhere. */
  readonly sockets?: KeptSockets | undefined;
  /** What /readyz says while the listener is open. */
  readonly readiness?: () => Readiness;
  /** What listens already, in this process or another one; absent: the address of the config is listened on. */
  readonly listening?: SocketHandle | undefined;
}

export interface HttpFront {
  /** Requests that were refused before they were anybody's. */
  readonly refused: RefusedCounts;
  /** The address of MCP, for a client on this machine. */
  readonly url: string;
  readonly address: ListenAddress;
  /** What listens, as `process.send` takes it, so that another process can keep it; undefined once it is closed. */
  readonly listening: SocketHandle | undefined;
  /** A connection that another replica has opened, to pass requests on. */
  accept(connection: Duplex): void;
  /** An idle connection that a former has given up; `isKnown`: a credential was accepted on it. */
  adopt(connection: SocketHandle, isKnown?: boolean): void;
  /** What a former says about its sessions; false: that cannot be read. */
  heardOfSessions(head: unknown, payload: Buffer): boolean;
  /**
   * From now on another process serves: nothing more is accepted here, idle connections and sessions go there, and what
   * was begun is ended. A second call joins the first.
   */
  handOver(to: Successor): HttpFormer;
  /**
   * The gateway is shutting down: connections are not kept for a next request, and streams without
   * an end are ended.
   */
  drain(): void;
  /**
   * The access of these principals has ended, by id: their running requests are answered with an error,
   * their sessions, stored ones included, and their streams end, and what is left of them is closed.
   */
  endAccess(ids: ReadonlySet<string>): void;
  /** How many requests were passed on to other replicas and have no answer yet. */
  readonly passedOn: number;
  /**
   * Resolves when nothing is open any more. What was passed on to other replicas may still be answered within this
   * time. A second call joins the first.
   */
  close(passedOnMs?: number): Promise<void>;
}

/** The process that serves from the fence on. */
export interface Successor extends ToSuccessor {
  /** For its `heardOfSessions`. */
  readonly session: ToldOfSessions;
}

/** A front after the fence. */
export interface HttpFormer {
  /** Resolves when it has no connection, request, parked call or session that works any more. */
  readonly ended: Promise<void>;
}

/** Listens, or throws a Fault that says why not. */
export async function startHttp(options: HttpOptions): Promise<HttpFront> {
  const { config } = options;
  const wanted = listenAddress(config.listen);
  assertGuarded(wanted, config.auth);
  const listener = new HttpListener(options, wanted.host);
  try {
    await listener.listen(wanted, options);
  } catch (error) {
    await listener.close();
    const isTaken = errnoOf(error) === 'EADDRINUSE';
    const { identity, clock } = options;
    const holder = isTaken ? await portHolder(wanted, identity.name, clock) : undefined;
    throw listenFault(wanted, error, holder);
  }
  try {
    // A name may resolve to another address than it seems to.
    assertGuarded(listener.address, config.auth);
  } catch (error) {
    await listener.close();
    throw error;
  }
  return listener;
}

class HttpListener implements HttpFront {
  readonly #server: Server;
  readonly #edge: Edge;
  readonly #door: FrontDoor;
  readonly #mcp: McpEndpoint;
  readonly #sessions: Sessions;
  readonly #old: OldTransport;
  readonly #passing: PassingOn;
  readonly #connections: OpenConnections;
  readonly #strangers: Strangers;
  #former: FormerFront | undefined;
  #underWay = 0;
  #quiet: (() => void) | undefined;
  #isDraining = false;
  #ending: Promise<void> | undefined;
  #address: ListenAddress = { host: '', port: 0 };

  constructor(options: HttpOptions, host: string) {
    const { front, clock, report, inform = () => {}, config, identity } = options;
    const limits = limitsWithin({ ...defaultLimits, ...options.limits }, openFileShares());
    this.#strangers = new Strangers(limits.strangers);
    const authenticator = config.auth === 'none' ? everyoneIsLocal : options.authenticator;
    if (authenticator === undefined) throw new TypeError('no authenticator was given');
    const { outgoing = new OutgoingBudget(clock, report) } = options;
    const deadlines = new Deadlines(clock);
    const { peers } = options;
    const isFromPeer = (connection: object) => this.#connections.isFromPeer(connection);
    const isEnding = () => this.#isDraining || this.#former !== undefined;
    const shared = peers && { peers, isFromPeer, isEnding };
    this.#edge = { front, limits, clock, report, inform, deadlines, outgoing, ...shared };
    const full = new RareLine(clock, report);
    const { connections: max } = limits;
    this.#connections = new OpenConnections({ max, full, strangers: this.#strangers });
    const { sessions: records } = options;
    const caught = (error: unknown) => front.caught(error);
    const idleMs = limits.sessionIdleMs;
    const replica = peers?.id;
    const kept =
      records &&
      new KeptSessions({
        ...{ records, clock, idleMs, caught, replica },
        areNearby: peers?.isOneMachine,
      });
    this.#sessions = new Sessions(this.#edge, kept);
    // Others know principals that this one does not: the local user of another machine.
    if (kept && options.principals && (!peers || peers.isOneMachine)) {
      kept.forgetAllBut(options.principals).catch(caught);
    }
    const passing = new PassingOn(this.#edge, this.#sessions);
    this.#passing = passing;
    this.#old = new OldTransport(this.#edge, this.#sessions, passing);
    const legacy = new LegacyEndpoint(this.#edge, this.#sessions, passing);
    this.#mcp = new McpEndpoint(this.#edge, legacy, passing);
    const { readiness = () => ({ ready: true }) } = options;
    const narrowed = (principal: Principal, cut: Cut) => front.narrowed(principal, cut);
    const places = {
      mcp: this.#mcp,
      legacy,
      old: this.#old,
      identity,
      readiness,
      limits,
      narrowed,
    };
    this.#door = new FrontDoor({
      edge: this.#edge,
      strangers: this.#strangers,
      hosts: new HostCheck({ ...config, host }),
      authenticator,
      routes: new RouteTable(httpRoutes(places)),
    });
    this.#server = this.#createServer();
  }

  get address(): ListenAddress {
    return this.#address;
  }

  get url(): string {
    return urlOf(this.#address);
  }

  get refused(): RefusedCounts {
    return this.#door.refused;
  }

  get listening(): SocketHandle | undefined {
    return handleOf(this.#server);
  }

  /** At an address, or with what listens there already. */
  async listen(
    wanted: ListenAddress,
    { listening, sockets }: Pick<HttpOptions, 'listening' | 'sockets'>,
  ): Promise<void> {
    const server = this.#server;
    const { backlog } = this.#strangers;
    // Port 0 included: it is the socket that an earlier process has got for it.
    const name = `http ${wanted.host} ${wanted.port}`;
    if (listening !== undefined) {
      server.listen(listening, backlog);
      await once(server, 'listening');
    } else if (!(await sockets?.resume(name, server, backlog))) {
      server.listen({ ...wanted, backlog });
      await once(server, 'listening');
      sockets?.keep(name, server);
    }
    server.on('error', (error) => this.#edge.report(`http: ${error.message}`));
    const { address: host, port } = server.address() as AddressInfo;
    this.#address = { host, port };
  }

  accept(connection: Duplex): void {
    if (this.#ending !== undefined) return void connection.destroy();
    this.#connections.noteFromPeer(connection);
    this.#server.emit('connection', connection);
  }

  adopt(connection: SocketHandle, isKnown = false): void {
    const socket = socketOf(connection);
    if (this.#ending !== undefined) return void socket.destroy();
    if (isKnown) this.#connections.noteKnown(socket);
    this.#connections.arrived(socket);
    const begin = () => void this.#server.emit('connection', socket);
    whenItSpeaks(socket, this.#edge.limits.keepAliveMs, begin);
  }

  heardOfSessions(head: unknown, payload: Buffer): boolean {
    return this.#sessions.heard(head, payload);
  }

  handOver(to: Successor): HttpFormer {
    this.#former ??= this.#fence(to);
    return this.#former;
  }

  #fence(to: Successor): FormerFront {
    const { front, clock } = this.#edge;
    const former = new FormerFront({
      ...{ server: this.#server, connections: this.#connections, clock, successor: to },
      isKnown: (socket) => !this.#strangers.has(socket),
      isQuiet: () => this.#isQuiet,
      endStreams: () => {
        this.#passing.endEndless();
        this.#old.endQuiet();
      },
      caught: (error) => front.caught(error),
    });
    front.endListenings?.();
    this.#mcp.endStreams();
    this.#sessions.handOver(to.session);
    return former;
  }

  get #isQuiet(): boolean {
    const { front } = this.#edge;
    return this.#underWay === 0 && this.passedOn === 0 && (front.unfinished ?? 0) === 0;
  }

  drain(): void {
    this.#isDraining = true;
    this.#mcp.endStreams();
    this.#sessions.endStreams();
    // Where others go on, a balancer may be about to use one: it is answered, and closed with the answer.
    const { peers } = this.#edge;
    const isAlone = peers === undefined || (peers.isOneMachine && this.#former === undefined);
    if (isAlone) this.#server.closeIdleConnections();
    else this.#old.endQuiet();
  }

  endAccess(ids: ReadonlySet<string>): void {
    const { front } = this.#edge;
    // An error in one of them leaves nothing of the others. The door is the last: what they wait for has been
    // answered by then.
    for (const place of [this.#sessions, this.#old, { endAccess: front.accessEnded.bind(front) }]) {
      contain(
        () => place.endAccess(ids),
        (error) => front.caught(error),
      );
    }
    this.#door.endAccess(ids);
  }

  get passedOn(): number {
    return this.#passing.underWay;
  }

  close(passedOnMs = 0): Promise<void> {
    this.#ending ??= this.#end(passedOnMs);
    return this.#ending;
  }

  async #end(passedOnMs: number): Promise<void> {
    const server = this.#server;
    this.#former?.close();
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    this.drain();
    this.#old.endAll();
    await this.#passing.drain(passedOnMs);
    const quiet = new Promise<void>((resolve) => {
      if (this.#underWay === 0) resolve();
      else this.#quiet = resolve;
    });
    await within(this.#edge.clock, this.#edge.limits.closeMs, quiet);
    this.#sessions.closeAll();
    server.closeAllConnections();
    // Those that were adopted and have said nothing are not the server's yet.
    for (const socket of this.#connections.all) socket.destroy();
    await closed;
    this.#edge.deadlines[Symbol.dispose]();
  }

  #createServer(): Server {
    const { limits } = this.#edge;
    const server = createServer({
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.lateCheckMs,
      keepAliveTimeout: limits.keepAliveMs,
    });
    server.maxConnections = limits.connections + limits.spareConnections;
    server.on('connection', (socket) => this.#connections.arrived(socket));
    // Node would drop headers beyond a number in silence, and with them what makes a head ambiguous.
    // Their bytes are bounded above, their number by the front door.
    server.maxHeadersCount = 0;
    const over = (res: ServerResponse) => this.#over(res);
    // One for all: it is called with the response as `this`.
    function ended(this: ServerResponse) {
      over(this);
    }
    const asked = (req: IncomingMessage, res: ServerResponse) => {
      if (this.#former?.admits(res) === false) return void req.resume();
      this.#underWay += 1;
      this.#connections.began(res);
      res.on('close', ended);
      this.#request(req, res);
    };
    server.on('request', asked);
    server.on('checkContinue', (req, res) => {
      holdBack(res);
      asked(req, res);
    });
    return server;
  }

  #request(req: IncomingMessage, res: ServerResponse): void {
    if (this.#ending !== undefined) {
      return refuseHttp(res, 503, 'Service Unavailable: the gateway is shutting down', lastWords);
    }
    if (this.#isDraining) res.shouldKeepAlive = false;
    if (this.#connections.isBeyond(req.socket)) {
      const message = `Service Unavailable: ${this.#edge.limits.connections} connections are open`;
      return refuseHttp(res, 503, message, lastWords);
    }
    this.#door.handle(req, res);
  }

  #over(res: ServerResponse): void {
    this.#door.over(res);
    this.#connections.over(res);
    this.#former?.over(res);
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#quiet?.();
  }
}

const lastWords = ['Connection', 'close', 'Retry-After', '5'];
