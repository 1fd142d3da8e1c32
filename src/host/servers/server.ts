// One registered server: its config, its connections and their supervision, what it offers and its
// subscriptions. It combines parts that do not depend on each other. connection-maker.ts opens a
// connection.

import type { Tool } from '../../catalog/tool.ts';
import { runsInFolders } from '../../config/client-folders.ts';
import type { ServerConfig, ToolConfig } from '../../config/schema.ts';
import { ownValue } from '../../kernel/own-value.ts';
import type { Redactor, Secret } from '../../kernel/redactor.ts';
import type { Noise } from '../../observe/events.ts';
import { Admission } from '../../supervise/admission.ts';
import { removedFault, Supervisor } from '../../supervise/supervisor.ts';
import type { Connection, Greeting } from '../../upstream/connection.ts';
import type { Caller } from '../connections/caller.ts';
import { ConnectionSlot, isSameButClass } from '../connections/connection-slot.ts';
import { ConnectionSlots } from '../connections/connection-slots.ts';
import { Questions } from '../connections/questions.ts';
import { RootsAtStart } from '../connections/roots-at-start.ts';
import type { HandOverTo } from '../handover/handed-host.ts';
import type { HandedTasks } from '../handover/handed-tasks.ts';
import type { ServerState } from '../handover/host-state.ts';
import { resultsMark } from '../handover/results-mark.ts';
import {
  type GivenSlots,
  giveSlots,
  restoreServer,
  type ServerInside,
  type TakeConnection,
  writtenServer,
} from '../handover/server-handing.ts';
import type { Catalogue } from '../lists/catalogue.ts';
import type { Offerings } from '../lists/offerings.ts';
import { ConnectionMaker } from './connection-maker.ts';
import { KnownSecrets } from './known-secrets.ts';
import { redactorFor } from './open-connection.ts';
import type { ServerFacts } from './server-facts.ts';
import { ServerKnowledge } from './server-knowledge.ts';
import type { ServerParts } from './server-parts.ts';
import { Standings } from './standings.ts';
import type { StartHistory } from './start-history.ts';
import { policyOf } from './supervisor-policy.ts';

const modernOnly = { modern: true, legacy: false } as const;

interface Former {
  readonly config: ServerConfig;
  readonly offerings: Offerings;
}

export class Server {
  readonly name: string;
  /** It is an orchestrator behind a broker: no command and no setting on this machine is about it. */
  readonly isElsewhere: boolean;
  readonly slots: ConnectionSlots;
  readonly admission: Admission;
  readonly questions: Questions;
  readonly #standings: Standings;
  readonly #maker: ConnectionMaker;
  readonly #parts: ServerParts;
  /** At most one for each kind. */
  readonly #noise = new Map<Noise, number>();
  /** The last lines of the last process, kept for status when it is gone. */
  #lastStderr: readonly string[] = [];
  #recalling: Promise<void> | undefined;
  #redactor: Redactor | undefined;
  /** What was read from files and commands for its starts. */
  readonly #secrets = new KnownSecrets();
  #hasToolConfig = false;
  /** As it was when connections were made on which calls may still end: those secrets are not shown either. */
  #former: readonly Former[] = [];
  #config: ServerConfig;
  #known: ServerKnowledge;

  constructor(name: string, config: ServerConfig, parts: ServerParts) {
    this.name = name;
    this.isElsewhere = parts.connectors?.has(name) === true;
    this.#config = config;
    this.#hasToolConfig = Object.keys(config.tools).length > 0;
    this.#parts = parts;
    this.#known = this.#newKnowledge();
    const { clock, events, hasClients } = parts;
    this.admission = new Admission(name, config.concurrency, config.queue);
    this.#standings = new Standings(clock, policyOf(config).circuit, (circuit) =>
      events.emit({ kind: 'circuit', server: name, circuit }),
    );
    this.slots = new ConnectionSlots({
      server: name,
      inClientFolders: () => runsInFolders(this.config),
      isolation: config.isolation,
      hasClients,
      // An orchestrator is a Holdfast, and spoken to in the modern era only.
      facts: () => (this.isElsewhere ? modernOnly : this.facts.assumed),
      make: (owner, aim) => {
        const slot = new ConnectionSlot(owner, aim, clock, (one) => this.#supervise(one));
        slot.subscriptions.missed = () => this.offerings.doubt(slot.aim);
        slot.subscriptions.unheard = (clients) => this.offerings.doubt(slot.aim, clients);
        return slot;
      },
    });
    const roots = new RootsAtStart(() => this.facts, clock);
    this.#maker = new ConnectionMaker(this, parts, roots, {
      lastWords: (stderr) => {
        this.#lastStderr = stderr;
      },
      noise: (noise) => this.#countNoise(noise),
    });
    this.questions = new Questions({
      server: name,
      clock,
      roots,
      slots: this.slots,
      hasClients,
      asked: () => this.facts.learn({ classes: 'differ' }),
      beforeRoots: (slot) => this.#maker.beforeRoots(slot),
      isListing: (connection) => this.#maker.isListing(connection),
      told: (slot, connection) => {
        parts.clientsTold(name);
        this.part(slot, connection);
        this.offerings.doubt(slot.aim);
      },
      foundAsking: () => {
        if (this.slots.foundAsking()) this.offerings.keep();
      },
      noise: (noise) => this.#countNoise(noise),
      caught: (error) => {
        events.defects.caught('a question of the server', error, name);
      },
      tasks: parts.tasks,
    });
  }

  get config(): ServerConfig {
    return this.#config;
  }

  get history(): StartHistory {
    return this.#known.history;
  }

  get facts(): ServerFacts {
    return this.#known.facts;
  }

  get offerings(): Offerings {
    return this.#known.offerings;
  }

  #newKnowledge(): ServerKnowledge {
    return new ServerKnowledge(this.name, this.#config, this.#parts, {
      asks: () => this.slots.asks,
      isHeld: (catalogue) => this.slots.isHeld(catalogue),
      gaveUp: (aim) => {
        for (const slot of this.slots.all()) {
          if (isSameButClass(slot.aim, aim)) slot.subscriptions.leave(aim.clients);
        }
      },
      learnt: () => this.#learnt(),
    });
  }

  // --- another config ----------------------------------------------------------------------

  /** Applies what needs no restart. Its process, its calls and its leases go on. */
  reconfigure(config: ServerConfig): void {
    const former = this.#config;
    this.#adopt(config);
    this.offerings.reconfigure(config);
    this.#pinAfter(former);
  }

  /**
   * The same, with another process or connection: running calls may end on the old one, all others
   * wait for the new one. Nothing that was known about the old one is used for the new one.
   */
  async restart(config: ServerConfig): Promise<void> {
    const former = this.#config;
    const ending = { config: former, offerings: this.offerings };
    this.#former = [...this.#former, ending];
    this.#adopt(config);
    this.#known = this.#newKnowledge();
    this.#recalling = undefined;
    const ended = [...this.slots.all()].map((slot) => {
      slot.catalogue = undefined;
      slot.roots = undefined;
      slot.aim = { ...slot.aim, era: slot.clientEra };
      return slot.supervisor.reload();
    });
    const regrouped = this.slots.regroup(config.isolation);
    this.#pinAfter(former);
    this.keepAgain();
    try {
      await Promise.all([...ended, regrouped]);
    } finally {
      this.#former = this.#former.filter((one) => one !== ending);
      this.#redactor = undefined;
    }
  }

  #adopt(config: ServerConfig): void {
    this.#config = config;
    this.#hasToolConfig = Object.keys(config.tools).length > 0;
    this.#redactor = undefined;
    const policy = policyOf(config);
    this.admission.resize(config.concurrency, config.queue);
    this.#standings.policy = policy.circuit;
    for (const { supervisor } of this.slots.all()) supervisor.adopt(policy);
  }

  #pinAfter({ lazy }: ServerConfig): void {
    const isPinned = !this.#config.lazy;
    if (isPinned !== lazy) return;
    this.slots.pin(isPinned);
    if (isPinned) this.supervisor.want();
  }

  /** One that is not lazy is kept running again: what an operator has stopped is reloaded or replaced now. */
  keepAgain(): void {
    if (this.#config.lazy) return;
    const isKept = [...this.slots.all()].some(({ supervisor }) => supervisor.leases.isPinned);
    if (!isKept) this.slots.pin(true);
  }

  /**
   * Permanently: running calls may end, and waiting callers are refused because the server was
   * removed.
   */
  async remove(): Promise<void> {
    this.#standings.removed();
    const refusal = removedFault(this.name);
    this.admission.refuseAll(refusal);
    await this.slots.retireAll(refusal);
    this.#parts.tasks.serverGone(this.name);
  }

  // --- from one process to the next --------------------------------------------------------

  /** Gives its connections to the process after this one; the calls that were begun go on here. */
  give(to: HandOverTo, nextId: () => number): Promise<GivenSlots> {
    return giveSlots(this, to, nextId, (error) => {
      this.#parts.events.defects.caught('a hand-over', error, this.name);
    });
  }

  /** All that the process after this one has to know; nothing is kept running here any more. */
  handOver(given: GivenSlots): ServerState {
    const written = writtenServer(this, this.#inside, given);
    for (const { supervisor } of this.slots.all()) supervisor.letGo();
    return written;
  }

  /** Whether results that were cached for what was written down may be given out here. */
  takesResultsOf({ spec, results }: Pick<ServerState, 'spec' | 'results'>): boolean {
    const { specHash } = this.#known;
    return spec === specHash && (results ?? resultsMark(this.config)) === resultsMark(this.config);
  }

  /** Goes on where the process before this one was. Resolves when its connections are in use, or are gone. */
  restore(state: ServerState, take: TakeConnection, tasks: HandedTasks): Promise<void> {
    return restoreServer(this, this.#inside, state, take, tasks);
  }

  /** Nothing is opened before this. */
  waitFor(ended: Promise<void>): void {
    this.#maker.waitFor(ended);
  }

  get #inside(): ServerInside {
    const setStderr = (lines: readonly string[]) => {
      this.#lastStderr = lines;
    };
    return {
      spec: this.#known.specHash,
      standings: this.#standings,
      maker: this.#maker,
      secrets: this.#secrets,
      noise: this.#noise,
      setStderr,
      clients: this.#parts.restoredClients,
      now: () => this.#parts.clock.now(),
    };
  }

  // --- what state it is in -----------------------------------------------------------------

  /** How often a connection of it was opened again, over all of them. */
  get startsAgain(): number {
    return this.#standings.startsAgain;
  }

  /**
   * Finds every value that must not be shown. Created when something may be shown: for most servers
   * of a large config it never is.
   */
  get redactor(): Redactor {
    this.#redactor ??= redactorFor(
      [this, ...this.#former].map(({ config }) => config),
      this.#parts.sourceEnv,
      this.#secrets.all,
    );
    return this.#redactor;
  }

  get knownSecrets(): readonly Secret[] {
    return this.#secrets.all;
  }

  learnSecrets(secrets: readonly Secret[]): void {
    if (this.#secrets.add(secrets)) this.#redactor = undefined;
  }

  /** It is elsewhere and was given up: what it has listed may not hold for us any more. */
  get isCutOff(): boolean {
    return this.isElsewhere && this.supervisor.connection === undefined;
  }

  /** Of the connection that was used last. */
  get supervisor(): Supervisor<Connection> {
    return this.slots.current.supervisor;
  }

  /** The operator's settings for a tool; for most servers there are none. */
  toolConfig(tool: string): ToolConfig | undefined {
    return this.#hasToolConfig ? ownValue(this.config.tools, tool) : undefined;
  }

  get stderr(): readonly string[] {
    return this.supervisor.connection?.stderr ?? this.#lastStderr;
  }

  get noise(): ReadonlyMap<Noise, number> {
    return this.#noise;
  }

  // --- what it offers ----------------------------------------------------------------------

  /** For the clients of the connection that was used last. */
  get catalogue(): Catalogue {
    return this.catalogueOn(this.slots.current, undefined);
  }

  /** For this client; for any if none is named. */
  catalogueFor(caller: Caller | undefined): Catalogue {
    return caller ? this.offerings.shownTo(this.slots.aimOf(caller)).catalogue : this.catalogue;
  }

  /**
   * A tool as it was listed to this client; the lists of others count only where this client was
   * not shown the tool, and the lists of an earlier process only where its calls may still end.
   */
  lastListed(tool: string, caller: Caller): Tool | undefined {
    const own = this.catalogueFor(caller).lastKnown(tool);
    if (own) return own;
    for (const { offerings } of [this, ...this.#former]) {
      const known = offerings.lastKnown(tool);
      if (known) return known;
    }
    return undefined;
  }

  /**
   * Whether this client is shown the lists of others, because nothing was read for clients like it.
   */
  isBorrowedFor(caller: Caller | undefined): boolean {
    return caller !== undefined && this.offerings.isBorrowed(this.slots.aimOf(caller));
  }

  /**
   * To this client on this connection, or to nobody in particular; while there is no connection, what is shown
   * instead.
   */
  catalogueOn(slot: ConnectionSlot, caller: Caller | undefined): Catalogue {
    const aim = this.slots.aimOn(slot, caller);
    // The lists of another class or era say nothing about the current process.
    if (!slot.catalogue || !slot.supervisor.connection)
      return this.offerings.shownTo(aim).catalogue;
    const isIts = aim.clients.key === slot.catalogue.aim.clients.key || aim.era === 'legacy';
    if (isIts) return slot.catalogue;
    const { catalogue } = this.offerings.of(aim);
    // From now on there are clients of this class.
    slot.subscriptions.listenFor(slot.supervisor.connection, catalogue.aim.clients);
    return catalogue;
  }

  /** The connection that this catalogue is read on; undefined while there is none. */
  slotOf(catalogue: Catalogue): ConnectionSlot | undefined {
    for (const slot of this.slots.all()) {
      if (!slot.isSpent && slot.supervisor.connection && isReadOn(slot, catalogue)) return slot;
    }
    return undefined;
  }

  /**
   * Its lists on a reserved connection are for that client only, once that client has used it or
   * sent it something.
   */
  part(slot: ConnectionSlot, connection: Connection): void {
    const shared = this.slots.aimOn(slot, undefined);
    if (slot.aim.owner !== undefined || !this.slots.part(slot)) return;
    slot.catalogue?.lists.leave(connection);
    this.offerings.left(shared, connection);
    slot.catalogue = this.offerings.of(this.slots.aimOn(slot, undefined)).catalogue;
  }

  /**
   * Whether the client of this call has to be asked for the roots of the call before it is sent,
   * because the server keeps roots and the client can be asked only inside the call.
   */
  wantsRoots(caller: Caller): boolean {
    const isWanted = this.facts.now.keepsRoots === true && caller.roots === undefined;
    return isWanted && this.dependsOnRoots(caller);
  }

  /** Whether its answer may depend on the roots of this very call. */
  dependsOnRoots(caller: Caller): boolean {
    const { client } = caller;
    if (this.facts.now.asksRoots !== true || client.findRoots === undefined) return false;
    return this.slots.takesRootsOf(caller) && client.hasRoots(caller);
  }

  /** A client has disconnected: what was kept only for it ends. */
  async clientGone(key: string): Promise<void> {
    const ended = this.slots.release(key);
    this.offerings.release(key);
    await ended;
  }

  /**
   * Its instructions and capabilities on the connection that was used last, or from an earlier run.
   */
  get greeting(): Greeting | undefined {
    const { slots } = this;
    return this.offerings.shownTo(slots.aimOn(slots.current, undefined)).greeting;
  }

  /** Its instructions and capabilities for clients like this one. */
  greetingFor(caller: Caller): Greeting | undefined {
    return this.offerings.shownTo(this.slots.aimOf(caller)).greeting;
  }

  /** Reads what an earlier run knew, once. */
  recall(): Promise<void> {
    this.#recalling ??= this.#recall().catch((error: unknown) => {
      this.#parts.events.defects.caught('the kept catalogue', error, this.name);
    });
    return this.#recalling;
  }

  async #recall(): Promise<void> {
    const known = this.#known;
    const record = await known.recall();
    // It may have been configured anew meanwhile: then this is about what it was.
    if (!record || known !== this.#known) return;
    if (record.asks) this.slots.foundAsking();
    const last = record.classes.findLast(({ aim }) => aim.era === 'legacy');
    if (last) this.slots.recall(last.aim.clients);
  }

  /** New facts about the server: which connections serve which clients may change. */
  #learnt(): void {
    for (const slot of this.slots.all()) {
      if (!slot.supervisor.connection) continue;
      slot.catalogue = this.offerings.of(this.slots.aimOn(slot, undefined)).catalogue;
    }
    this.slots.changed();
  }

  // --- making a connection -----------------------------------------------------------------

  #supervise(slot: ConnectionSlot): Supervisor<Connection> {
    const { clock, random, events } = this.#parts;
    return new Supervisor({
      server: this.name,
      clock,
      random,
      events,
      policy: policyOf(this.config),
      standing: this.#standings.of(slot.aim.folder),
      connect: (generation, signal, lost) => this.#maker.connect(slot, generation, signal, lost),
      connected: (connection) => {
        this.slots.connected(slot);
        slot.subscriptions.connected(connection);
        this.#parts.connected(this);
      },
    });
  }

  /** Always counted, reported at every power of ten: a flood must not become a flood of events. */
  #countNoise(noise: Noise): void {
    const count = (this.#noise.get(noise) ?? 0) + 1;
    this.#noise.set(noise, count);
    if (Number.isInteger(Math.log10(count))) {
      this.#parts.events.emit({ kind: 'noise', server: this.name, noise, count });
    }
  }
}

/** A modern connection is the same for all classes of clients. */
function isReadOn({ catalogue: own, aim }: ConnectionSlot, catalogue: Catalogue): boolean {
  if (own === catalogue) return true;
  return aim.era === 'modern' && own !== undefined && isSameButClass(aim, catalogue.aim);
}
