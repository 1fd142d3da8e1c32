// All that must hold, at every step and at the end, as one judge. It hears what the callers do, what
// the host says, what the servers write down and which processes exist, and hands each to the rules
// it concerns. What they find is kept as a list of violations, each named after the promise that is
// broken.

import type { LoadedConfig } from '../../src/config/loaded.ts';
import type { Config } from '../../src/config/schema.ts';
import { HostCore } from '../../src/host/host-core.ts';
import type { FaultCode } from '../../src/kernel/fault.ts';
import type { HostEvent } from '../../src/observe/events.ts';
import { StoreOverRollout } from '../../src/store/remote/store-over-rollout.ts';
import type { Allowance } from './allowance.ts';
import { CallRules } from './call-rules.ts';
import { CallBook, type CallRecord, type Ending, type Plan, type Standing } from './calls.ts';
import type { Difference, RunConfig } from './config-changes.ts';
import { ConfigRules } from './config-rules.ts';
import { type Fleet, type HostAudience, partsFor } from './fleet.ts';
import { KeyRules } from './key-rules.ts';
import type { LedgerLine } from './ledger.ts';
import { MemoryRules } from './memory-rules.ts';
import type { People } from './people.ts';
import { PolicyRules } from './policy-rules.ts';
import type { Circuit, Manner, Passage } from './probe-rules.ts';
import { ProcessRules } from './process-rules.ts';
import { allLeft, leftOf, serversLeft } from './remains.ts';
import { RolloutRules } from './rollout-rules.ts';
import type { ServerRules } from './server-rules.ts';
import type { SimChild } from './sim-child.ts';
import { StoreRules } from './store-rules.ts';
import type { HostEdges, Watcher, World } from './world.ts';

export interface Violation {
  /** The promise; `liveness` for what is promised by none of them alone. */
  readonly rule: string;
  readonly at: number;
  readonly step: number;
  readonly detail: string;
}

/** What of a server goes along in a rollout. */
interface Kept {
  readonly isSame: (server: string) => boolean;
  /** Its cached results. */
  readonly isKept: (server: string) => boolean;
}

const keptViolations = 20;

export class Judge implements Watcher {
  readonly violations: Violation[] = [];
  readonly book = new CallBook();
  step = 0;
  /** Told directly by those they are about. */
  store!: StoreRules;
  policy!: PolicyRules;
  rollouts!: RolloutRules;
  keys!: KeyRules;
  configs!: ConfigRules;
  #world!: World;
  #config!: Config;
  #people!: People;
  #calls!: CallRules;
  // What is known of one life of the host, from one cold start to the next.
  #memory!: MemoryRules;
  /** Of the process that serves. */
  #serving!: ProcessRules;
  /** Of all processes that are there. */
  readonly #processes = new Set<ProcessRules>();
  #callEvents = 0;
  #callsBefore = 0;
  readonly #violated = (rule: string, detail: string) => this.violated(rule, detail);

  /** The world needs a watcher and the host a world: the judge comes first and meets them here. */
  watch(world: World, fleet: Fleet, people: People): void {
    this.#world = world;
    this.#config = fleet.config;
    this.#people = people;
    this.#calls = new CallRules(this.book, world, fleet, this.#violated);
    this.keys = new KeyRules(world, fleet.keys, this.#violated);
    this.configs = new ConfigRules(fleet.first, {
      world,
      violated: this.#violated,
      tether: () => this.#serving.tether,
      fresh: ({ loaded }) => freshHost(world, fleet, loaded),
      changes: (difference) => this.#configured(difference),
    });
    this.policy = new PolicyRules(this.book, people, this.#violated);
    this.store = new StoreRules(world.disk, this.#violated);
    this.rollouts = new RolloutRules(world, this.#violated);
  }

  // --- the lives of the host ---------------------------------------------------------------

  /** A new host is about to be made; it knows nothing of what another one knew. */
  lifeBegins(): void {
    this.#memory = new MemoryRules(this.book, this.#world.ledger, this.#config, this.#violated);
    this.#processes.clear();
    this.#callEvents = 0;
    this.#callsBefore = this.book.count;
    this.keys.lifeBegins();
    this.configs.lifeBegins();
  }

  /** A process of this life is about to be made. */
  processBegins({ tether, id }: HostEdges, serves: boolean): ProcessRules {
    const [world, config] = [this.#world, this.#config];
    const rules = new ProcessRules(`p${Number(`0x${id}`)}`, tether, world, config, this.#violated);
    this.#processes.add(rules);
    if (serves) this.#serving = rules;
    return rules;
  }

  get servers(): ServerRules {
    return this.#serving.servers;
  }

  get serving(): ProcessRules {
    return this.#serving;
  }

  /** From now on nobody serves, until another one does. */
  fenced(): void {
    this.configs.lifeEnds();
  }

  /** This process serves now; `started` is the config it was started with. */
  serves(rules: ProcessRules, started: RunConfig, { isSame, isKept }: Kept): void {
    this.#serving = rules;
    const { host } = rules;
    if (host) this.configs.succeeds(host, started);
    for (const name of Object.keys(this.#config.mcpServers)) {
      // Its callers wait for another one; what was cached of another program must not be used.
      this.#calls.disturbed(name, this.#world.clock.now());
      if (!isKept(name)) this.#memory.invalidated(name, this.step);
      if (!isSame(name)) this.servers.replaced(name);
    }
  }

  meet(host: HostCore): void {
    this.configs.meet(host);
  }

  /** Hears one process, as long as it lives. */
  audience(rules: ProcessRules): HostAudience {
    const { tether } = rules;
    return {
      heard: (event) => {
        if (!tether.isCut) this.#heard(event, rules);
      },
      complained: (problem) => {
        if (tether.isCut) return;
        this.#world.trace.add(`store: ${problem.kind} ${problem.file}`);
        this.store.complained(problem);
      },
    };
  }

  /** It was killed: its callers are left without an answer, and every other call has had one. */
  lifeEndedByForce(): void {
    this.#judgeCallEvents(this.book.open.size);
    const at = this.#world.clock.now();
    for (const record of this.book.open) {
      record.ended = { at, step: this.step, ending: { kind: 'bereft' } };
    }
    this.book.open.clear();
    this.store.lifeEnded();
  }

  /** One process was killed, which was replaced before. */
  processKilled(rules: ProcessRules): void {
    const at = this.#world.clock.now();
    for (const record of this.book.open) {
      if (record.process !== rules) continue;
      record.ended = { at, step: this.step, ending: { kind: 'bereft' } };
      this.book.open.delete(record);
      // It has no event.
      this.#callsBefore += 1;
    }
    this.store.lifeEnded();
    this.processEnded(rules, false);
  }

  #judgeCallEvents(open: number): void {
    const count = this.book.count - this.#callsBefore - open;
    if (this.#callEvents === count) return;
    this.violated('event-log', `${count} calls, but ${this.#callEvents} events of calls`);
  }

  violated(rule: string, detail: string): void {
    const at = this.#world.clock.now();
    this.#world.trace.add(`VIOLATION ${rule}: ${detail}`);
    if (this.violations.length < keptViolations) {
      this.violations.push({ rule, at, step: this.step, detail });
    }
  }

  // --- what the world tells ----------------------------------------------------------------

  noted(line: LedgerLine): void {
    this.#calls.noted(line);
    if (line.phase !== 'received') return;
    this.policy.received(line.call);
    this.servers.received(line.call, this.book.of(line.call.nonce));
  }

  spawned(child: SimChild, before: readonly SimChild[]): void {
    for (const rules of this.#processes) {
      if (rules.tether === child.tether) rules.spawned(child, before);
    }
  }

  misused(what: string): void {
    this.violated('rollout', what);
  }

  // --- what the host tells -----------------------------------------------------------------

  #heard(event: HostEvent, rules: ProcessRules): void {
    this.#world.trace.add(`${rules.name} ${JSON.stringify(event)}`);
    if (event.kind === 'call') this.#callEvents += 1;
    if (rules === this.#serving) this.configs.heard(event);
    rules.heard(event, this.step);
  }

  // --- what the operators tell -------------------------------------------------------------

  /** Its past is forgotten from here on: a reload or a stop begins now. */
  forgiven(name: string): void {
    this.#serving.forgiven(name, this.step);
  }

  /** It is about to be stopped or replaced: its callers may wait anew, its cached results must go. */
  disturbed(name: string): void {
    this.#calls.disturbed(name, this.#world.clock.now());
    if (this.servers.isRegistered(name)) this.#memory.invalidated(name, this.step);
  }

  /** A config takes effect now. */
  #configured({ added, removed, restarted, reconfigured }: Difference): void {
    for (const name of [...removed, ...restarted]) this.disturbed(name);
    for (const name of restarted) {
      this.forgiven(name);
      this.servers.replaced(name);
    }
    for (const name of [...added, ...reconfigured]) this.#memory.invalidated(name, this.step);
  }

  // --- what the callers tell ---------------------------------------------------------------

  /** Right before the host is called; `allowance` is what the caller may still spend. */
  callBegins(plan: Plan, allowance: Allowance | undefined): CallRecord {
    const { principal, server, tool } = plan;
    const now = this.#world.clock.now();
    const isAllowed = this.#people.mayUse(principal, server, tool);
    const isHidden = this.configs.hides(server, tool);
    const isThere = !(isHidden ?? this.servers.hides(server, tool));
    const isCharged = isAllowed && isThere && this.servers.isRegistered(server);
    const isOver = isCharged && allowance ? allowance.spend(now) : false;
    const standing: Standing = {
      isAllowed,
      isHidden,
      isOverBudget: isCharged ? isOver : undefined,
      definition: this.servers.definitionOf(server),
    };
    return this.book.begin(plan, standing, this.#world.clock, this.step, this.#serving);
  }

  /** Right after the host was called; `circuit` is what it was right before. */
  callBegan(record: CallRecord, circuit: Circuit): void {
    const { server, isShared, key } = record.plan;
    const hasAsked = !isShared && key === undefined;
    const isLook = key !== undefined;
    // Under a key it comes to the gate when the database has the key, whatever the circuit is by then.
    const met = isLook ? 'half_open' : circuit;
    const passage = this.passes(`call ${record.number}`, server, met, { hasAsked, isLook });
    if (passage) record.process.passages.set(record, passage);
  }

  callEnded(record: CallRecord, ending: Ending): void {
    this.book.open.delete(record);
    record.ended = { at: this.#world.clock.now(), step: this.step, ending };
    const code = ending.kind === 'fault' ? ending.fault.code : undefined;
    const dispatched = ending.kind === 'fault' ? ending.fault.dispatched : '';
    const { number, plan } = record;
    this.#world.trace.add(`call ${number} ${plan.nonce} ${code ?? ending.kind} ${dispatched}`);
    this.#calls.ended(record);
    this.policy.ended(record);
    const run = runOf(ending);
    if (run !== undefined) this.#memory.answered(record, run);
    this.keys.ended(record, run, code);
    this.configs.callEnded(record);
    // Under a key the execution goes on when its caller has given up, and may prove the server alive.
    const goesOn = plan.key !== undefined && code === 'cancelled';
    const { passages } = record.process;
    if (!goesOn) this.passed(passages.get(record), code);
    passages.delete(record);
    this.rollouts.callEnded(record, this.#serving);
  }

  circuitOf(name: string): Circuit {
    return this.servers.server(name)?.supervisor.breaker.circuit ?? 'closed';
  }

  isEjected(name: string): boolean {
    return this.servers.server(name)?.supervisor.phase.kind === 'ejected';
  }

  /** Something has come to the gate of a server, whose circuit was so. */
  passes(
    what: string,
    server: string,
    circuit: Circuit,
    manner: Partial<Manner>,
  ): Passage | undefined {
    if (circuit !== 'half_open') return undefined;
    const { hasAsked = false, isLook = false } = manner;
    const begunAt = this.#world.clock.now();
    const arrival = { what, server, hasAsked, isLook, begunAt, begunStep: this.step };
    return this.#serving.probes.began(arrival);
  }

  /** Clients ask for lists as long as this host lives: a reading may come to the gate at any time. */
  listsAreRead(): void {
    for (const server of Object.keys(this.#config.mcpServers)) {
      this.passes('a list', server, 'half_open', { isLook: true });
    }
  }

  passed(passage: Passage | undefined, code: FaultCode | undefined): void {
    if (passage) passage.of.ended(passage, this.step, code);
  }

  // --- at every step, and at the end -------------------------------------------------------

  settled(): void {
    for (const { probes, servers } of this.#processes) {
      probes.settled(this.step);
      servers.settled(this.#world.clock.now());
    }
    if (this.#world.database.wasShared) {
      this.violated('rollout', 'two processes have the database open');
      this.#world.database.wasShared = false;
    }
    this.step += 1;
  }

  /** After `close` has resolved and its last turn is over. */
  closed(pending: readonly string[]): void {
    this.#calls.finish();
    this.servers.closed();
    for (const what of pending) this.violated('one-answer', `${what} never came to an end`);
    this.#judgeCallEvents(0);
    this.nothingLeft();
  }

  /** A process was replaced and has ended, in order or because it was killed. */
  processEnded(rules: ProcessRules, isInOrder: boolean): void {
    this.#processes.delete(rules);
    if (!isInOrder) return;
    rules.servers.closed();
    for (const line of leftOf(this.#world, rules.tether)) this.violated('stop-ladder', line);
  }

  nothingLeft(): void {
    for (const line of allLeft(this.#world, this.#serving.tether)) {
      this.violated('stop-ladder', line);
    }
  }

  /**
   * The config has no server any more; the two stores tidy up now and then, whoever uses them, and what the disk has
   * refused is tried again.
   */
  emptied(changesTriedAgain: number): void {
    const timers = Math.max(0, this.#serving.tether.timers - 2 - changesTriedAgain);
    for (const line of allLeft(this.#world, { timers })) this.violated('live-config', line);
  }

  noServerLeft(): void {
    for (const line of serversLeft(this.#world)) this.violated('stop-ladder', line);
  }
}

/** Made and never used: nothing that it plans happens. */
function freshHost(world: World, fleet: Fleet, config: LoadedConfig): HostCore {
  const edges = world.edges();
  edges.tether.isCut = true;
  const audience = { heard: () => {}, complained: () => {} };
  const holders = { id: edges.id, isAlive: never, claimAt: never, answerClaims: () => {} };
  const over = new StoreOverRollout();
  // Its database is never opened.
  const serving = new Promise<void>(() => {});
  return new HostCore(partsFor(edges, fleet, config, audience, { holders, over, serving }));
}

const never = () => new Promise<never>(() => {});

/** Which execution an answer is of, if it says so. */
function runOf(ending: Ending): number | undefined {
  if (ending.kind === 'result') return Number(ending.echo.run);
  if (ending.kind !== 'fault' || ending.fault.code !== 'rpc_error') return undefined;
  const run = /^run (\d+)/.exec(String(ending.fault.record.rpc?.message))?.[1];
  return run === undefined ? undefined : Number(run);
}
