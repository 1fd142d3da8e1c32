// The gateway: one MCP endpoint in front of every server of a host, for clients of both eras. It
// keeps the sessions of legacy clients, processes modern requests, notifies clients of changes, and
// answers requests that concern no server. Everything else is forwarded.

import { conflictLine } from '../catalog/name-conflicts.ts';
import { type Caller, type Client, limitedAs } from '../host/connections/caller.ts';
import type { HostForGateway } from '../host/gateway-face.ts';
import type { LiveSettings, ServersChange } from '../host/host-news.ts';
import type { Clock } from '../kernel/clock.ts';
import { contain, ignored } from '../kernel/contain.ts';
import type { Fault } from '../kernel/fault.ts';
import { RingMap } from '../kernel/ring-map.ts';
import { serverRequest } from '../policy/access.ts';
import { type Cut, cutBy, ownerOf, type Principal, sharingOwnerOf } from '../policy/principal.ts';
import type { Identity } from '../upstream/negotiate.ts';
import { textOf } from '../wire/decode.ts';
import { envelopeKeys } from '../wire/eras.ts';
import { errorFrame, idText } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
import type { Span } from '../wire/span.ts';
import { oneLine } from '../wire/splice.ts';
import { endAccess } from './access-ended.ts';
import { ClientNews } from './client-news.ts';
import { passOn } from './clients/client-notifications.ts';
import { Hearing } from './clients/hearing.ts';
import { LegacySession, type SessionHost } from './clients/legacy-session.ts';
import { ModernClients } from './clients/modern-clients.ts';
import type {
  GatewayForTransports,
  ModernSender,
  Outlet,
  Reply,
  Session,
  SessionOptions,
  Underway,
} from './contract.ts';
import { legacyGreeting } from './greeting.ts';
import { Incoming } from './incoming.ts';
import { answerRequest } from './methods.ts';
import { Draining } from './outgoing/draining.ts';
import { OwnAnswers } from './own-answers.ts';
import { tooManyUnderWay } from './refusals.ts';
import { Parking } from './relay/parking.ts';
import { Relay } from './relay/relay.ts';
import { Seal } from './relay/seal.ts';
import { holderOf, keyFor, type Replica } from './replica.ts';
import type { Listening } from './subscriptions/listen.ts';
import { mayWatch } from './subscriptions/watching.ts';
import { TaskHandles } from './tasks/task-handles.ts';
import { knownTasks, tellOfTask } from './tasks/task-news.ts';
import { TaskResults } from './tasks/task-results.ts';
import { mayFollow } from './tasks/task-watch.ts';
import { ownServer } from './view/host-tool-sources.ts';
import { listsOfThoseCome, listsOfThoseGone, type TouchedList } from './view/touched-lists.ts';
import { View } from './view/view.ts';

export interface GatewaySettings {
  readonly naming: 'prefix' | 'transparent';
  readonly surface: 'direct' | 'search';
  readonly hostTools: boolean;
  /** How long a first list waits for servers without a known list. */
  readonly listWaitMs: number;
  /** The one server behind it: a list that it has not given is an error, not an empty list. Absent: there may be several. */
  readonly onlyServer?: string;
}

export interface GatewayParts {
  readonly host: HostForGateway;
  readonly clock: Clock;
  readonly identity: Identity;
  readonly settings: GatewaySettings;
  /** The one server behind it is connected and has not given a list, for this reason. */
  readonly notGiven?: (fault: Fault) => void;
  /** Which replica it is, where there are several. */
  readonly replica?: Replica | undefined;
}

export class Gateway implements GatewayForTransports, AsyncDisposable {
  readonly host: HostForGateway;
  readonly identity: Identity;
  readonly settings: GatewaySettings;
  readonly notGiven: ((fault: Fault) => void) | undefined;
  readonly view: View;
  readonly relay: Relay;
  /** What is answered here, without a server. */
  readonly ownAnswers: OwnAnswers;
  readonly handles: TaskHandles;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly #hearing: Hearing;
  readonly #parking: Parking;
  /** Until they are closed; their transports allow only so many. */
  readonly #sessions = new Set<LegacySession>();
  /** Until their requests end; at most `maxListenings` for each owner. */
  readonly #listenings = new Set<Listening>();
  readonly #clients: ModernClients;
  /** Modern requests until they are answered, at most `maxUnderWay` for each owner. */
  readonly #requests = new RingMap<number, Incoming>(1024);
  readonly #news: ClientNews;
  readonly #subscription: Disposable;
  #draining: Draining | undefined;
  readonly #replica: string | undefined;
  #nextSession = 1;
  #nextRequest = 1;
  isAccepting = true;

  constructor({ host, clock, identity, settings, replica, notGiven }: GatewayParts) {
    this.host = host;
    this.notGiven = notGiven;
    this.identity = identity;
    // A copy that is kept up to date: its readers see what applies now.
    this.settings = { ...settings };
    this.clock = clock;
    this.#replica = replica?.id;
    this.seal = new Seal(replica && keyFor(replica, 'states'));
    const { seal } = this;
    this.#hearing = new Hearing(host);
    this.#parking = new Parking(clock, seal, (error) => this.caught(error), replica?.id);
    this.#clients = new ModernClients({
      clock,
      parking: this.#parking,
      hearing: this.#hearing,
      isAwaited: (key) => host.tasks.ofClient(key).some(({ isOver }) => !isOver),
      gone: (key) => {
        host.clientGone(key).catch((error: unknown) => this.caught(error));
      },
    });
    this.ownAnswers = new OwnAnswers(host, clock, (error) => this.caught(error));
    const isChild = (server: string) => host.find(server).config.type === 'stdio';
    const holder = replica?.doServersMove === true ? undefined : replica?.id;
    this.handles = new TaskHandles(seal, (server) => (isChild(server) ? holder : undefined));
    const cursorKey = replica && keyFor(replica, 'cursors');
    this.view = new View(host, clock, this.settings, cursorKey);
    host.setExplanation((server) => conflictLine(this.view.nameConflicts(server)));
    this.relay = new Relay({
      host,
      clock,
      refused: (incoming, operation, fault) => this.ownAnswers.refused(incoming, operation, fault),
      seal,
      parking: this.#parking,
      tasks: new TaskResults(this.handles, host.tasks),
      exposed: ({ principal }, server, answer) =>
        this.view.of(principal).resources.exposedAnswer(server, answer),
      isHeard: (incoming) => this.#hearing.ofCall(incoming),
      caught: (error) => this.caught(error),
    });
    const { view } = this;
    const [sessions, listenings] = [this.#sessions, this.#listenings];
    this.#news = new ClientNews({ host, clock, view, sessions, listenings });
    this.#subscription = host.news.subscribe({
      listChanged: (server, kind, change) => {
        if (view.changed(server, kind, change)) this.#news.listChanged(kind, server);
        else if (change === 'first') this.#news.listKnown(kind);
        else this.#news.listRead(kind, server);
      },
      updated: (server, message, audience) => this.#news.updated(server, message, audience),
      serversChanged: (change) => this.#serversChanged(change),
      settingsChanged: (config) => this.#settingsChanged(config),
      policyChanged: () => this.#policyChanged(),
      task: (news) => tellOfTask(this, news, this.#sessions, this.#listenings),
    });
  }

  // --- clients -----------------------------------------------------------------------------

  openSession(principal: Principal, outlet: Outlet, options: SessionOptions = {}): Session {
    const { firstQuestion = 1, folder, restored, key = this.#newKey() } = options;
    const parts: SessionHost = {
      greeting: (sender) => this.#greeting(sender),
      answer: (incoming, own) => answerRequest(this, incoming, own),
      notified: (message, own) => passOn(this, message, own.key, own.principal),
      settled: () => this.#draining?.settled(),
      closed: (own) => this.#closed(own),
      caught: (error) => this.caught(error),
      mayHear: (server, message, caller, own) => this.#hearing.may(own, server, message, caller),
      mayReceive: (message, own) => this.#hearing.mayReceive(own.principal, own, message),
      tasks: (server, own) => knownTasks(this, server, own.key),
      watch: async ({ server, uri }, own) =>
        await this.host.find(server).slots.watch(own.caller, uri),
      firstQuestion,
      folder,
    };
    const session = new LegacySession(key, principal, outlet, parts, restored);
    this.#sessions.add(session);
    if (restored?.protocolVersion !== undefined) this.#goesOn(session);
    return session;
  }

  /** What it sees now is what it saw in the process before. */
  #goesOn(session: LegacySession): void {
    Promise.resolve(this.view.recalled())
      .then(() => this.#tellMissed(session))
      .catch((error: unknown) => this.caught(error));
  }

  /** It is told of what changes from now on, and of what the process before may not have told it. */
  #tellMissed(told: LegacySession | Listening): void {
    const servers = this.host.servers();
    const unread = servers.flatMap(({ name: server, offerings }) =>
      offerings.unreadChanges.map((kind) => ({ server, kind })),
    );
    this.#news.goesOn(told, unread);
  }

  /** Of a session: another process of the same instance has others. */
  #newKey(): string {
    const number = this.#nextSession++;
    return this.#replica === undefined ? `session-${number}` : `session-${this.#replica}-${number}`;
  }

  /** At once, unless stored data about the servers is still being read. */
  #greeting(sender: Caller): string | Promise<string> {
    const written = () => {
      if (sender.client instanceof LegacySession) this.#news.began(sender.client);
      return legacyGreeting(this.host, this.identity, sender);
    };
    return this.view.recalled()?.then(written) ?? written();
  }

  #closed(session: LegacySession): void {
    this.#sessions.delete(session);
    this.host.clientGone(session.key).catch((error: unknown) => this.caught(error));
  }

  request(
    message: Message,
    { principal, client, folder, callId, goesOn, goesAlong }: ModernSender,
    reply: Reply,
  ): Underway | undefined {
    const { bytes, meta } = message;
    const level = meta?.find(envelopeKeys.logLevel);
    const capabilities = meta?.find(envelopeKeys.clientCapabilities);
    const serial = this.#nextRequest++;
    const sharingOwner = sharingOwnerOf(principal);
    const sender = this.#clients.of(client, {
      endsIdle: client === principal.id,
      sharingOwner,
      folder,
    });
    if (!this.#clients.begin(sender)) {
      reply.answer(errorFrame(idText(message), tooManyUnderWay), tooManyUnderWay.code);
      return undefined;
    }
    const incoming = new Incoming(
      message,
      {
        principal,
        client: sender,
        era: 'modern',
        capabilities: capabilities ? lineText(bytes, capabilities) : '{}',
        logLevel: level && textOf(bytes, level),
        callId,
        goesOn,
        goesAlong,
      },
      reply,
      () => {
        this.#requests.delete(serial);
        this.#clients.end(sender);
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
    passOn(this, message, client, principal);
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

  /** All that are here. */
  get clientsHere(): readonly Client[] {
    return [...this.#sessions, ...this.#clients.all];
  }

  /** The legacy client of this key, if it is here. */
  clientOf(key: string): Client | undefined {
    for (const session of this.#sessions) if (session.key === key) return session;
    return undefined;
  }

  /** A connection that was a client of its own was closed. */
  clientGone(key: string): void {
    this.#clients.forget(key);
  }

  accessEnded(ids: ReadonlySet<string>): void {
    const isTheirs = (one: Incoming) => isOverHttp(one) && ids.has(ownerOf(one.principal).id);
    const listening = [...this.#listenings].map(({ incoming }) => incoming);
    const ending = [...listening, ...this.#requests.values()].filter(isTheirs);
    // An error in one of them leaves no other one.
    const end = (work: () => void) => contain(work, (error) => this.caught(error));
    for (const incoming of ending) end(() => endAccess(incoming));
    end(() => this.#clients.endAccess(ids));
    end(() => this.#parking.endAccess(ids));
  }

  caught(error: unknown): void {
    this.host.defects.caught('a message of the client', error);
  }

  inputSchemaOf(tool: string, principal: Principal): unknown {
    const route = this.view.of(principal).tools.route(tool, principal);
    if (!route || route.name === null) return undefined;
    return this.host.find(route.server).offerings.lastKnown(route.name)?.inputSchema;
  }

  holderOf(message: Message, principal: Principal): string | undefined {
    return holderOf(this, message, principal);
  }

  narrowed(principal: Principal, cut: Cut): Principal | undefined {
    const { access } = this.host;
    const mayOperate = () => cut.kind === 'server' || access.roles.isOperator(cut.name);
    const narrow = cutBy(principal, cut, mayOperate);
    const requests = this.host.servers().map(({ name }) => serverRequest('list', name));
    // What the principal itself may not see is left out first, and all of the rest is asked about: a server that is
    // hidden takes as long as one that does not exist.
    const seen = requests.filter((request) => access.isAllowed(principal, request));
    return seen.filter((request) => access.isAllowed(narrow, request)).length > 0
      ? narrow
      : undefined;
  }

  // --- what clients are told ---------------------------------------------------------------

  /** How many streams this client listens on, with those of its owner on other paths. */
  listeningsOf(client: Client): number {
    const limited = limitedAs(client);
    let count = 0;
    for (const { incoming } of this.#listenings) {
      if (limitedAs(incoming.client) === limited) count += 1;
    }
    return count;
  }

  listening(listening: Listening, ended: () => void): void {
    this.#listenings.add(listening);
    if (listening.incoming.goesOn) this.#tellMissed(listening);
    else this.#news.began(listening);
    listening.incoming.cancelSignal.addEventListener('abort', () => {
      this.#listenings.delete(listening);
      ended();
    });
  }

  /** New servers are announced when their stored data has been read. */
  #serversChanged(change: ServersChange): void {
    this.view.serversChanged(change);
    for (const { name } of change.removed) {
      for (const session of this.#sessions) session.serverGone(name);
    }
    const tell = (touched: readonly TouchedList[]) => {
      for (const { kind, server } of touched) this.#news.listChanged(kind, server);
    };
    tell(listsOfThoseGone(change, this.host.servers()));
    Promise.resolve(this.view.recalled())
      .then(() => tell(listsOfThoseCome(change)))
      .catch((error: unknown) => this.caught(error));
  }

  /** Of what is hidden from a client now nothing more is sent to it: it asks nothing, and is not watched for that client. */
  #policyChanged(): void {
    this.#parking.policyChanged((call) => this.#hearing.ofCall(call));
    for (const session of this.#sessions) {
      session.policyChanged((watched) => mayWatch(this, session.principal, watched));
    }
    for (const listening of this.#listenings) {
      const { principal } = listening.incoming;
      listening.policyChanged({
        watch: (watched) => mayWatch(this, principal, watched),
        follow: (watch) => mayFollow(this, principal, watch),
      });
    }
    this.#news.policyChanged();
  }

  #settingsChanged({ surface, hostTools, listWaitMs }: LiveSettings): void {
    const isListed = surface !== this.settings.surface || hostTools !== this.settings.hostTools;
    Object.assign(this.settings, { surface, hostTools, listWaitMs });
    this.view.settingsChanged();
    if (!isListed) return;
    for (const server of [ownServer, ...this.host.servers().map(({ name }) => name)]) {
      this.#news.listChanged('tools', server);
    }
  }

  // --- the end -----------------------------------------------------------------------------

  /**
   * No new work is accepted, and subscribers are told that this is the end. Resolves when all
   * running requests have been answered: by their servers within this time, or else by us. A second
   * call can only shorten the time.
   */
  drain(ms: number): Promise<void> {
    this.isAccepting = false;
    this.#draining ??= new Draining({ clock: this.clock, underWay: () => this.#underWay() });
    for (const listening of [...this.#listenings]) listening.end();
    this.#listenings.clear();
    this.#draining.within(ms);
    return this.#draining.done;
  }

  endListenings(): void {
    for (const listening of [...this.#listenings]) {
      if (listening.incoming.goesAlong) continue;
      this.#listenings.delete(listening);
      listening.end();
    }
  }

  get unfinished(): number {
    return this.underWay + this.#parking.size;
  }

  /** How many clients there are: sessions, and clients of the modern era, which have none. */
  get clients(): number {
    return this.#sessions.size + this.#clients.size;
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
    this.#subscription[Symbol.dispose]();
    this.#news[Symbol.dispose]();
    for (const session of [...this.#sessions]) session.close();
    for (const incoming of this.#requests.values()) incoming.cancel();
    this.#parking.close();
    this.#clients[Symbol.dispose]();
    this.view[Symbol.dispose]();
  }
}

/** There the id of a principal is the key of its modern client; a window of the local user has another one. */
function isOverHttp({ principal, client }: Incoming): boolean {
  return client.key === principal.id;
}

/** JSON text for a line that somebody else reads. */
function lineText(bytes: Buffer, { start, end }: Span): string {
  return oneLine(bytes.subarray(start, end)).toString('utf8');
}
