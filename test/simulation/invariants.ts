// All that must hold, at every step and at the end, as one judge. It hears what the callers do, what
// the host says, what the servers write down and which processes exist, and hands each to the rules
// it concerns. What they find is kept as a list of violations, each named after the promise that is
// broken.

import type { Config } from '../../src/config/schema.ts';
import type { Host } from '../../src/host/host.ts';
import type { FaultCode } from '../../src/kernel/fault.ts';
import type { HostEvent } from '../../src/observe/events.ts';
import { CallRules } from './call-rules.ts';
import { CallBook, type CallRecord, type Ending, type Plan } from './calls.ts';
import type { LedgerLine } from './ledger.ts';
import { LifeRules } from './life-rules.ts';
import { type Circuit, type Passage, ProbeRules } from './probe-rules.ts';
import { ServerRules } from './server-rules.ts';
import type { SimChild } from './sim-child.ts';
import type { Watcher, World } from './world.ts';

export interface Violation {
  /** The promise; `liveness` for what is promised by none of them alone. */
  readonly rule: string;
  readonly at: number;
  readonly step: number;
  readonly detail: string;
}

const keptViolations = 20;

export class Judge implements Watcher {
  readonly violations: Violation[] = [];
  readonly book = new CallBook();
  step = 0;
  #world!: World;
  #config!: Config;
  #calls!: CallRules;
  #probes!: ProbeRules;
  #servers!: ServerRules;
  readonly #lives = new Map<string, LifeRules>();
  /** How often each circuit has changed: two who met the same half-open one met the same number. */
  readonly #circuits = new Map<string, number>();
  readonly #forgivenInStep = new Map<string, number>();
  readonly #passages = new Map<CallRecord, Passage>();
  #callEvents = 0;

  /** The world needs a watcher and the host a world: the judge comes first and meets them here. */
  watch(world: World, config: Config): void {
    this.#world = world;
    this.#config = config;
    const violated = (rule: string, detail: string) => this.violated(rule, detail);
    this.#calls = new CallRules(this.book, world.ledger, config, violated);
    this.#servers = new ServerRules(config, violated);
    const probeMs = (name: string) => {
      const server = config.mcpServers[name];
      return (server?.startTimeoutMs ?? 0) + (server?.callTimeoutMs ?? 0);
    };
    this.#probes = new ProbeRules(probeMs, violated);
  }

  meet(host: Host): void {
    this.#servers.meet(host);
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
    if (line.phase === 'received') this.#servers.received(line.call);
  }

  spawned(child: SimChild, before: readonly SimChild[]): void {
    this.#lives.get(child.name)?.spawned(child, before);
  }

  // --- what the host tells -----------------------------------------------------------------

  heard(event: HostEvent): void {
    const { server, kind } = event;
    this.#world.trace.add(JSON.stringify(event));
    if (kind === 'registered') this.#registered(server);
    if (kind === 'circuit') this.#circuitChanged(server, event.circuit);
    if (kind === 'call') this.#callEvents += 1;
    this.#servers.heard(event);
    this.#lives.get(server)?.heard(event, this.#world.clock.now());
  }

  #registered(name: string): void {
    const config = this.#config.mcpServers[name];
    if (!config) return;
    const violated = (rule: string, detail: string) => this.violated(rule, detail);
    this.#lives.set(name, new LifeRules(name, config, violated));
    this.#probes.registered(name);
  }

  #circuitChanged(name: string, circuit: Circuit): void {
    this.#circuits.set(name, (this.#circuits.get(name) ?? 0) + 1);
    this.#probes.changed(name, circuit, this.#forgivenInStep.get(name) === this.step);
  }

  // --- what the operators tell -------------------------------------------------------------

  /** Its past is forgotten from here on: a reload or a stop begins now. */
  forgiven(name: string): void {
    this.#forgivenInStep.set(name, this.step);
    this.#lives.get(name)?.forgiven();
  }

  /** Its callers may have to wait anew. */
  disturbed(name: string): void {
    this.#calls.disturbed(name, this.#world.clock.now());
  }

  // --- what the callers tell ---------------------------------------------------------------

  callBegins(plan: Plan): CallRecord {
    return this.book.begin(plan, this.#world.clock.now(), this.step);
  }

  /** Right after the host was called; `circuit` is what it was right before. */
  callBegan(record: CallRecord, circuit: Circuit): void {
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

  circuitOf(name: string): Circuit {
    return this.#servers.server(name)?.supervisor.breaker.circuit ?? 'closed';
  }

  /** Something has come to the gate of a server, whose circuit was so. */
  passes(what: string, server: string, circuit: Circuit, hasAsked: boolean): Passage | undefined {
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

  // --- at every step, and at the end -------------------------------------------------------

  settled(): void {
    this.#probes.settled(this.step);
    this.#servers.settled(this.#world.clock.now());
    this.step += 1;
  }

  /** After `close` has resolved and its last turn is over. */
  closed(pending: readonly string[]): void {
    this.#calls.finish();
    this.#servers.closed();
    for (const what of pending) this.violated('one-answer', `${what} never came to an end`);
    const { count } = this.book;
    if (this.#callEvents !== count) {
      this.violated('event-log', `${count} calls, but ${this.#callEvents} events of calls`);
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
    if (http.open > 0) this.violated('stop-ladder', `${http.open} exchanges open after the end`);
  }
}
