// The gateway: one MCP endpoint in front of every server of a host, for clients of both eras. It gives
// each client its session or takes each request by itself, tells clients what changed, and answers for
// itself what concerns no server. Everything else is carried.

import { conflictLine } from '../catalog/name-conflicts.ts';
import type { ObservedCall } from '../host/call/call-observer.ts';
import type { Caller } from '../host/connections/caller.ts';
import type { HostForGateway } from '../host/gateway-face.ts';
import { announcedAs, type ListKind } from '../host/lists/listings.ts';
import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { Fault, faultFrom } from '../kernel/fault.ts';
import { RingMap } from '../kernel/ring-map.ts';
import { serverRequest } from '../policy/access.ts';
import { notificationAccess } from '../policy/method-access.ts';
import type { Principal } from '../policy/principal.ts';
import type { Identity } from '../upstream/negotiate.ts';
import { textOf } from '../wire/decode.ts';
import { errorFrame, idText, notificationFrame } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
import type { Span } from '../wire/span.ts';
import { oneLine } from '../wire/splice.ts';
import { LegacySession, paramsOf, watches } from './clients/legacy-session.ts';
import { ModernClients } from './clients/modern-clients.ts';
import {
  type Front,
  maxUnderWay,
  type Outlet,
  type Reply,
  type Session,
  type Underway,
} from './contract.ts';
import { legacyGreeting } from './greeting.ts';
import { Incoming } from './incoming.ts';
import { answerRequest } from './methods.ts';
import { Draining } from './outgoing/draining.ts';
import { faultError, faultResult, tooManyUnderWay } from './refusals.ts';
import { Parking } from './relay/parking.ts';
import { type AskedOperation, Relay } from './relay/relay.ts';
import { relayedParams } from './relay/relayed-params.ts';
import { Seal } from './relay/seal.ts';
import type { Listening } from './subscriptions/listen.ts';
import { TaskHandles } from './tasks/task-handles.ts';
import { knownTasks, tellOfTask } from './tasks/task-news.ts';
import { TaskResults } from './tasks/task-results.ts';
import { View } from './view/view.ts';

export interface GatewaySettings {
  readonly naming: 'prefix' | 'transparent';
  readonly surface: 'direct' | 'search';
  readonly hostTools: boolean;
  /** How long a first list waits for servers of which nothing is known. */
  readonly listWaitMs: number;
}

export interface GatewayParts {
  readonly host: HostForGateway;
  readonly clock: Clock;
  readonly identity: Identity;
  readonly settings: GatewaySettings;
}

/** A burst of changes is one piece of news. */
const gatherMs = 20;

export class Gateway implements Front, AsyncDisposable {
  readonly host: HostForGateway;
  readonly identity: Identity;
  readonly settings: GatewaySettings;
  readonly view: View;
  readonly relay: Relay;
  readonly handles: TaskHandles;
  readonly seal = new Seal();
  readonly clock: Clock;
  readonly #parking: Parking;
  /** Until they are closed; their transports allow only so many. */
  readonly #sessions = new Set<LegacySession>();
  /** Until their requests end; at most `maxListenings` for each client. */
  readonly #listenings = new Set<Listening>();
  readonly #clients: ModernClients;
  /** Modern requests until they are answered, at most `maxUnderWay` for each client. */
  readonly #requests = new RingMap<number, Incoming>(1024);
  /** Lists that clients are to be told of next, and at which servers; at most one entry for each. */
  readonly #changed = new Map<ListKind, Set<string>>();
  readonly #news: Disposable;
  #telling: Disposable | undefined;
  #draining: Draining | undefined;
  #nextSession = 1;
  #nextRequest = 1;
  isAccepting = true;

  constructor({ host, clock, identity, settings }: GatewayParts) {
    this.host = host;
    this.identity = identity;
    this.settings = settings;
    this.clock = clock;
    const { seal } = this;
    this.#parking = new Parking(clock, seal, (error) => this.caught(error));
    this.#clients = new ModernClients({
      clock,
      parking: this.#parking,
      isAwaited: (key) => host.tasks.ofClient(key).some(({ isOver }) => !isOver),
      gone: (key) => {
        host.clientGone(key).catch((error: unknown) => this.caught(error));
      },
    });
    this.handles = new TaskHandles(seal);
    this.view = new View(host, clock, settings);
    host.setExplanation((server) => conflictLine(this.view.nameConflicts(server)));
    this.relay = new Relay({
      host,
      clock,
      refused: (incoming, operation, fault) => this.#refused(incoming, operation, fault),
      seal,
      parking: this.#parking,
      tasks: new TaskResults(this.handles, host.tasks),
      exposed: (server, answer) => this.view.resources.exposedAnswer(server, answer),
      caught: (error) => this.caught(error),
    });
    this.#news = host.news.subscribe({
      listChanged: (server, kind, change) => {
        if (this.view.changed(server, kind, change)) this.#tell(kind, server);
      },
      updated: (server, message, owner) => this.#updated(server, message, owner),
      task: (news) => tellOfTask(this, news, this.#sessions, this.#listenings),
    });
  }

  // --- clients -----------------------------------------------------------------------------

  openSession(principal: Principal, outlet: Outlet): Session {
    const key = `session-${this.#nextSession++}`;
    const session = new LegacySession(key, principal, outlet, {
      greeting: (sender) => this.#greeting(sender),
      answer: (incoming, own) => answerRequest(this, incoming, own),
      notified: (message, own) => this.#notified(message, own.key, own.principal),
      settled: () => this.#draining?.settled(),
      closed: (own) => this.#closed(own),
      caught: (error) => this.caught(error),
      tasks: (server, own) => knownTasks(this, server, own.key),
    });
    this.#sessions.add(session);
    return session;
  }

  /** At once, unless what an earlier run knew of the servers is still being read. */
  #greeting(sender: Caller): string | Promise<string> {
    const written = () => legacyGreeting(this.host, this.identity, sender);
    return this.view.recalled()?.then(written) ?? written();
  }

  #closed(session: LegacySession): void {
    this.#sessions.delete(session);
    this.host.clientGone(session.key).catch((error: unknown) => this.caught(error));
  }

  request(
    message: Message,
    { principal, client }: { readonly principal: Principal; readonly client: string },
    reply: Reply,
  ): Underway | undefined {
    const { bytes, meta } = message;
    const level = meta?.find('io.modelcontextprotocol/logLevel');
    const capabilities = meta?.find('io.modelcontextprotocol/clientCapabilities');
    const serial = this.#nextRequest++;
    const sender = this.#clients.of(client, client === principal.id);
    if (sender.underWay >= maxUnderWay) {
      reply.answer(errorFrame(idText(message), tooManyUnderWay), tooManyUnderWay.code);
      return undefined;
    }
    sender.underWay += 1;
    const incoming = new Incoming(
      message,
      {
        principal,
        client: sender,
        era: 'modern',
        capabilities: capabilities ? lineText(bytes, capabilities) : '{}',
        logLevel: level && textOf(bytes, level),
      },
      reply,
      () => {
        this.#requests.delete(serial);
        sender.underWay -= 1;
        this.#draining?.settled();
      },
    );
    this.#requests.set(serial, incoming);
    answerRequest(this, incoming, undefined);
    return incoming.isOver ? undefined : incoming;
  }

  notified(
    message: Message,
    { principal, client }: { readonly principal: Principal; readonly client: string },
  ): void {
    this.#notified(message, client, principal);
  }

  /** What is kept now, for tests of what is not. */
  get kept(): { readonly [what: string]: number } {
    return {
      sessions: this.#sessions.size,
      listenings: this.#listenings.size,
      clients: this.#clients.size,
      requests: this.#requests.size,
      parked: this.#parking.size,
      composed: this.view.composed,
    };
  }

  /** A connection that was a client of its own is gone. */
  clientGone(key: string): void {
    this.#clients.forget(key);
  }

  caught(error: unknown): void {
    this.host.defects.caught('a message of the client', error);
  }

  inputSchemaOf(tool: string, principal: Principal): unknown {
    const route = this.view.tools.route(tool, principal);
    if (!route || route.name === null) return undefined;
    return this.host.find(route.server).offerings.lastKnown(route.name)?.inputSchema;
  }

  // --- what clients say to no one in particular --------------------------------------------

  /** For the servers that this client alone uses; if there is only one server, for that one. */
  #notified(message: Message, client: string, principal: Principal): void {
    const { method = '' } = message;
    const params = relayedParams(message, {});
    const isOwnAffair = method === 'notifications/roots/list_changed';
    const only = isOwnAffair ? undefined : this.view.onlyServer(principal);
    const { action, kind } = notificationAccess;
    for (const { name, slots } of this.host.servers()) {
      const request = { action, server: name, kind, name: method, method };
      if (!this.host.access.isAllowed(principal, request)) continue;
      const own = slots.usedOnlyBy(client);
      // The shared one may be another's; a client that has its own is heard there and nowhere else.
      const isShared = own.length === 0 && name === only && slots.current.owner === null;
      const meant = isShared ? [slots.current] : own;
      for (const { supervisor } of meant) {
        const { connection } = supervisor;
        if (connection && (connection.era === 'legacy' || !isOwnAffair)) {
          connection.notify(method, params);
        }
      }
    }
  }

  // --- what clients are told ---------------------------------------------------------------

  /** How many streams this client listens on. */
  listeningsOf(key: string): number {
    let count = 0;
    for (const { incoming } of this.#listenings) if (incoming.client.key === key) count += 1;
    return count;
  }

  listening(listening: Listening, ended: () => void): void {
    this.#listenings.add(listening);
    listening.incoming.cancelSignal.addEventListener('abort', () => {
      this.#listenings.delete(listening);
      ended();
    });
  }

  #tell(kind: ListKind, server: string): void {
    const list = announcedAs(kind);
    this.#changed.set(list, (this.#changed.get(list) ?? new Set()).add(server));
    this.#telling ??= this.clock.after(gatherMs, () => {
      this.#telling = undefined;
      const changed = [...this.#changed];
      this.#changed.clear();
      for (const [list, servers] of changed) this.#tellAll(list, servers);
    });
  }

  #tellAll(kind: ListKind, servers: ReadonlySet<string>): void {
    const method = `notifications/${kind}/list_changed`;
    const frame = notificationFrame(method);
    const requests = [...servers].map((server) => serverRequest('list', server));
    const { access } = this.host;
    const maySee = (principal: Principal) =>
      requests.some((request) => access.isAllowed(principal, request));
    for (const session of this.#sessions) {
      if (maySee(session.principal)) session.send(frame, method);
    }
    for (const listening of this.#listenings) {
      if (maySee(listening.incoming.principal)) listening.listChanged(kind);
    }
  }

  #updated(server: string, message: Message, owner: string | null): void {
    const params = paramsOf(message);
    const span = message.paramsObject?.find('uri');
    const own = span && textOf(message.bytes, span);
    if (!params || own === undefined) return;
    const uri = this.view.resources.exposed(server, own);
    const shown = uri === own ? params : this.view.resources.exposedIn(server, params);
    const frame = notificationFrame('notifications/resources/updated', shown);
    const request = {
      action: 'subscribe',
      server,
      kind: 'resource',
      name: own,
      method: null,
    } as const;
    const isMeant = (key: string, principal: Principal) =>
      (owner === null || owner === key) && this.host.access.isAllowed(principal, request);
    for (const session of this.#sessions) {
      if (watches(session, uri) && isMeant(session.key, session.principal)) session.send(frame);
    }
    for (const listening of this.#listenings) {
      const { client, principal } = listening.incoming;
      if (isMeant(client.key, principal)) listening.updated(uri, shown);
    }
  }

  // --- counting ----------------------------------------------------------------------------

  /** A tool call that met a fault before it was known whose tool it is. */
  failToolCall(incoming: Incoming, fault: Fault): void {
    this.#refused(incoming, { method: 'tools/call', kind: 'tool', name: null }, fault);
    incoming.result(faultResult(fault, incoming));
  }

  #refused(incoming: Incoming, operation: AskedOperation, fault: Fault): void {
    const { observers } = this.host;
    const told = this.#told(incoming, operation);
    observers.began(told);
    observers.ended(told, fault.code, fault);
  }

  /** What the gateway answers by itself, as observers see it. */
  #told({ principal }: Incoming, operation: AskedOperation): ObservedCall {
    const request = { principal, server: null, operation };
    return { request, startedAt: this.clock.now(), attempts: 0, replays: 0, generation: null };
  }

  /** Counts what the gateway answers by itself; a fault becomes the answer. */
  count(
    incoming: Incoming,
    about: Partial<AskedOperation>,
    work: () => void | Promise<void>,
  ): void {
    const { observers } = this.host;
    const method = incoming.message.method ?? '';
    const told = this.#told(incoming, { method, kind: 'other', name: null, ...about });
    observers.began(told);
    const end = () => observers.ended(told, 'ok', undefined);
    const fail = (thrown: unknown) => {
      if (!(thrown instanceof Fault)) this.caught(thrown);
      const fault = faultFrom(thrown);
      observers.ended(told, fault.code, fault);
      incoming.error(faultError(fault, incoming.principal));
    };
    try {
      const working = work();
      if (working instanceof Promise)
        working
          .then(end)
          .catch(fail)
          .catch((e) => this.caught(e));
      else end();
    } catch (thrown) {
      fail(thrown);
    }
  }

  // --- the end -----------------------------------------------------------------------------

  /**
   * Nothing new is taken on, and those who only listen are told that this is the end. Resolves when
   * everything under way has been answered: by its server within this time, or else by us. A second
   * call can only make the time shorter.
   */
  drain(ms: number): Promise<void> {
    this.isAccepting = false;
    this.#draining ??= new Draining({ clock: this.clock, underWay: () => this.#underWay() });
    for (const listening of [...this.#listenings]) listening.end();
    this.#listenings.clear();
    this.#draining.within(ms);
    return this.#draining.done;
  }

  /** How many requests have no answer yet. */
  get underWay(): number {
    return this.#underWay().length;
  }

  #underWay(): readonly Incoming[] {
    return [...this.#requests.values(), ...[...this.#sessions].flatMap(({ underWay }) => underWay)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.drain(0).catch(ignored);
    this.#news[Symbol.dispose]();
    this.#telling?.[Symbol.dispose]();
    for (const session of [...this.#sessions]) session.close();
    for (const incoming of this.#requests.values()) incoming.cancel();
    this.#parking.close();
    this.#clients[Symbol.dispose]();
    this.view[Symbol.dispose]();
  }
}

/** JSON text that goes into a line of somebody else's. */
function lineText(bytes: Buffer, { start, end }: Span): string {
  return oneLine(bytes.subarray(start, end)).toString('utf8');
}
