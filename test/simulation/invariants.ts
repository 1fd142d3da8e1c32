// All that must hold, at every step and at the end, as one judge. It hears what the callers do, what
// the host says, what the servers write down and which processes exist; it looks at the host only
// through its public face and the state that `status` is made from. What it finds is kept as a list
// of violations, each named after the promise that is broken.

import type { Config } from '../../src/config/schema.ts';
import type { Host } from '../../src/host/host.ts';
import type { Server } from '../../src/host/server.ts';
import type { FaultCode } from '../../src/kernel/fault.ts';
import type { HostEvent } from '../../src/observe/events.ts';
import { CallRules } from './call-rules.ts';
import { CallBook, type CallRecord, type Ending, type Plan } from './calls.ts';
import type { LedgerLine } from './ledger.ts';
import { LifeRules } from './life-rules.ts';
import { type Circuit, type Passage, ProbeRules } from './probe-rules.ts';
import type { SimChild } from './sim-child.ts';
import type { Watcher, World } from './world.ts';

export interface Violation {
  readonly rule: string;
  readonly at: number;
  readonly step: number;
  readonly detail: string;
}

const keptViolations = 20;
/** A call on a connection that was retired goes on by itself: for so long nobody else is needed. */
const retiredMs = 60_000;
/** A reload waits until what it ended is gone, and those who wait for the server wait with it. */
const reloadMs = 15_000;

export class Judge implements Watcher {
  readonly violations: Violation[] = [];
  readonly book = new CallBook();
  step = 0;
  #world!: World;
  #config!: Config;
  #host: Host | undefined;
  #calls!: CallRules;
  #probes!: ProbeRules;
  readonly #lives = new Map<string, LifeRules>();
  readonly #circuits = new Map<string, number>();
  readonly #forgivenInStep = new Map<string, number>();
  readonly #definitions = new Map<string, number>();
  readonly #servers = new Map<string, Server>();
  readonly #idleSince = new Map<string, number>();
  readonly #passages = new Map<CallRecord, Passage>();
  #callEvents = 0;

  /** The world needs a watcher and the host a world: the judge comes first and meets them here. */
  watch(world: World, config: Config): void {
    this.#world = world;
    this.#config = config;
    const violated = (rule: string, detail: string) => this.violated(rule, detail);
    this.#calls = new CallRules(this.book, world.ledger, config, violated);
    const probeMs = (name: string) => {
      const server = config.mcpServers[name];
      return (server?.startTimeoutMs ?? 0) + (server?.callTimeoutMs ?? 0);
    };
    this.#probes = new ProbeRules(probeMs, violated);
  }

  meet(host: Host): void {
    this.#host = host;
    this.#refresh();
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
    if (line.phase === 'received') this.#judgeKnowledge(line);
  }

  /** What is known of the tools of a process was read from that process. */
  #judgeKnowledge({ call }: LedgerLine): void {
    const server = this.#server(call.server);
    if (!server || server.supervisor.connection?.pid !== call.pid) return;
    const known = this.#knownDefinition(server);
    if (known !== 0 && known !== call.definition) {
      const what = `definition ${known} is known of ${call.pid}, which has ${call.definition}`;
      this.violated('generations', `${call.server}: ${what}`);
    }
  }

  #knownDefinition(server: Server): number {
    return Number(server.catalogue.find('read')?.tool.description?.split(' ')[1] ?? 0);
  }

  spawned(child: SimChild, before: readonly SimChild[]): void {
    this.#lives.get(child.name)?.spawned(child, before);
  }

  // --- what the host tells -----------------------------------------------------------------

  heard(event: HostEvent): void {
    const { server, kind } = event;
    const at = this.#world.clock.now();
    this.#world.trace.add(JSON.stringify(event));
    if (kind === 'registered') this.#registered(server);
    if (kind === 'removed') this.#refresh();
    if (kind === 'circuit') this.#circuitChanged(server, event.circuit);
    if (kind === 'starting') this.#judgeStart(server);
    if (kind === 'call') this.#callEvents += 1;
    if (kind === 'tools') this.#judgeList(server);
    if (kind === 'stopping' && event.reason === 'idle') this.#judgeIdle(server);
    this.#lives.get(server)?.heard(event, at);
  }

  #registered(name: string): void {
    const config = this.#config.mcpServers[name];
    if (!config) return;
    this.#lives.set(
      name,
      new LifeRules(name, config, (rule, detail) => this.violated(rule, detail)),
    );
    this.#servers.delete(name);
    this.#definitions.delete(name);
    this.#probes.registered(name);
    this.#server(name);
  }

  #circuitChanged(name: string, circuit: Circuit): void {
    this.#circuits.set(name, (this.#circuits.get(name) ?? 0) + 1);
    this.#probes.changed(name, circuit, this.#forgivenInStep.get(name) === this.step);
  }

  /** Nothing is started that nobody needs. */
  #judgeStart(name: string): void {
    if (this.#server(name)?.supervisor.leases.isWanted === false) {
      this.violated('lazy', `${name} is started although nobody needs it`);
    }
  }

  /** Definitions only ever go up, so a list that goes down was read on an old connection. */
  #judgeList(name: string): void {
    const server = this.#server(name);
    const known = server ? this.#knownDefinition(server) : 0;
    const before = this.#definitions.get(name) ?? 0;
    if (known < before) {
      this.violated('generations', `${name}: the list of an old connection replaced a newer one`);
    }
    this.#definitions.set(name, known);
  }

  /** A server that somebody holds is not unused. */
  #judgeIdle(name: string): void {
    if (this.#server(name)?.supervisor.leases.isWanted) {
      this.violated('leases', `${name} is stopped as unused while somebody holds it`);
    }
  }

  /** Its past is forgotten from here on: a reload or a stop begins now. */
  forgiven(name: string): void {
    this.#forgivenInStep.set(name, this.step);
    this.#lives.get(name)?.forgiven();
  }

  disturbed(name: string): void {
    this.#calls.disturbed(name, this.#world.clock.now());
  }

  // --- what the callers tell ---------------------------------------------------------------

  callBegins(plan: Plan): CallRecord {
    return this.book.begin(plan, this.#world.clock.now(), this.step);
  }

  /** Right after the host was called; `circuit` is what it was right before. */
  callBegan(record: CallRecord, circuit: string): void {
    const { server, isShared, key } = record.plan;
    const hasAsked = !isShared && key === undefined;
    const passage = this.passes(`call ${record.number}`, server, circuit, hasAsked);
    if (passage) this.#passages.set(record, passage);
  }

  callEnded(record: CallRecord, ending: Ending): void {
    this.book.open.delete(record);
    record.ended = { at: this.#world.clock.now(), step: this.step, ending };
    const code = ending.kind === 'fault' ? ending.fault.code : undefined;
    const dispatched = ending.kind === 'fault' ? ending.fault.dispatched : '';
    const { number, plan } = record;
    this.#world.trace.add(`call ${number} ${plan.nonce} ${code ?? ending.kind} ${dispatched}`);
    this.#calls.ended(record);
    this.passed(this.#passages.get(record), code);
    this.#passages.delete(record);
  }

  /** Something has come to the gate of a server, whose circuit was so. */
  passes(what: string, server: string, circuit: string, hasAsked: boolean): Passage | undefined {
    if (circuit !== 'half_open') return undefined;
    const passage: Passage = {
      what,
      server,
      hasAsked,
      begunAt: this.#world.clock.now(),
      begunStep: this.step,
      epoch: this.#circuits.get(server) ?? 0,
      endedStep: Infinity,
    };
    this.#probes.began(passage);
    return passage;
  }

  passed(passage: Passage | undefined, code: FaultCode | undefined): void {
    if (passage) this.#probes.ended(passage, this.step, code);
  }

  circuitOf(name: string): string {
    return this.#server(name)?.supervisor.breaker.circuit ?? 'closed';
  }

  // --- at every step -----------------------------------------------------------------------

  settled(): void {
    this.#probes.settled(this.step);
    this.step += 1;
    for (const [name, { supervisor, config }] of this.#servers) {
      const { held, owners } = supervisor.leases;
      if (held < owners.length)
        this.violated('leases', `${name}: ${held} holds, ${owners.length} owners`);
      if (supervisor.phase.kind !== 'idle' || held === owners.length) {
        this.#idleSince.delete(name);
        continue;
      }
      const now = this.#world.clock.now();
      const since = this.#idleSince.get(name) ?? now;
      this.#idleSince.set(name, since);
      if (now - since >= (config.type === 'stdio' ? reloadMs : retiredMs)) {
        this.violated('one-answer', `${name} is asleep while ${held} wait for it`);
        this.#idleSince.set(name, Infinity);
      }
    }
  }

  #refresh(): void {
    this.#servers.clear();
    for (const name of Object.keys(this.#config.mcpServers)) this.#server(name);
  }

  #server(name: string): Server | undefined {
    const known = this.#servers.get(name);
    if (known) return known;
    try {
      const server = this.#host?.find(name);
      if (server) this.#servers.set(name, server);
      return server;
    } catch {
      return undefined; // not registered at the moment, or the host is closing
    }
  }

  // --- at the end --------------------------------------------------------------------------

  /** After `close` has resolved and its last turn is over. */
  closed(pending: readonly string[]): void {
    this.#calls.finish();
    for (const what of pending) this.violated('one-answer', `${what} never came to an end`);
    for (const [name, { supervisor, admission }] of this.#servers) {
      const { held, owners } = supervisor.leases;
      const counts = [held - owners.length, admission.inside, admission.queued];
      if (counts.some((count) => count !== 0)) {
        this.violated('leases', `${name}: holds, calls, queued are ${counts} after the end`);
      }
    }
    if (this.#callEvents !== this.book.count) {
      this.violated('event-log', `${this.book.count} calls, but ${this.#callEvents} events`);
    }
    this.nothingLeft();
  }

  nothingLeft(): void {
    const { clock, left, http } = this.#world;
    for (const child of left) {
      const state = child.isAlive ? 'is alive' : 'has left strays';
      this.violated('stop-ladder', `${child.name} ${child.pid} ${state} after the end`);
    }
    const { hostTimers } = clock;
    if (hostTimers > 0) this.violated('stop-ladder', `${hostTimers} timers wait after the end`);
    if (http.open > 0)
      this.violated('stop-ladder', `${http.open} exchanges are open after the end`);
  }
}
