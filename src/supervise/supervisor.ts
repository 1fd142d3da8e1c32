// One supervised connection of a server, with its lifecycle, its leases and the server's
// supervision state. A call passes the gate, takes a lease, gets the connection, and reports its
// outcome; an operator pins, stops and reloads; a reader asks for the state. Each incident counts
// once: a lost process is one failure however many calls ran on it, and a failed start is one
// however many callers waited for it.

import type { Clock, Random } from '../kernel/clock.ts';
import { Fault, faultTable } from '../kernel/fault.ts';
import { forKeeping } from '../kernel/kept-error.ts';
import type { EventHub, Happening } from '../observe/events.ts';
import type { Breaker } from './breaker.ts';
import type { BreakerPolicy } from './breaker-machine.ts';
import type { HandedLife } from './handed-supervision.ts';
import { type HandedLeases, type Lease, Leases } from './leases.ts';
import { Life, type LifeListener, type LifePolicy } from './life.ts';
import type { Phase, StopReason } from './life-machine.ts';
import type { ServerStanding } from './standing.ts';
import type { Connect, Supervised } from './supervised.ts';

export interface SupervisorPolicy extends LifePolicy {
  readonly circuit: BreakerPolicy;
  readonly keepAliveMs: number;
}

/** One connection of a server, as it is written down for the next process. */
export interface HandedSupervisor {
  readonly life: HandedLife;
  readonly leases: HandedLeases;
  /** Its next start is a restart. */
  readonly hasStarted: boolean;
}

/** What a `ready` event says about a connection. */
export interface Described extends Supervised {
  readonly era: 'legacy' | 'modern';
  readonly protocolVersion: string;
  readonly pid: number | null;
}

export interface SupervisorParts<C extends Described> {
  readonly server: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventHub;
  readonly policy: SupervisorPolicy;
  /** Shared by all connections of the server. */
  readonly standing: ServerStanding;
  readonly connect: Connect<C>;
  /** The connection is open and is used for all calls from now on. */
  readonly connected: (connection: C) => void;
}

/** What was begun before a hand-over may use a server several times. */
const leftMs = 5_000;

export class Supervisor<C extends Described> implements LifeListener<C> {
  readonly breaker: Breaker;
  readonly leases: Leases;
  readonly #parts: SupervisorParts<C>;
  readonly #life: Life<C>;
  #probing = 0;
  #hasStarted = false;
  #policy: SupervisorPolicy;

  constructor(parts: SupervisorParts<C>) {
    const { server, clock, policy, standing } = parts;
    this.#parts = parts;
    this.#policy = policy;
    this.breaker = standing.breaker;
    this.#life = new Life(server, parts, policy, parts.connect, this, standing);
    this.leases = new Leases(clock, policy.keepAliveMs, () => this.#life.unwanted());
  }

  // --- what a call needs -------------------------------------------------------------------

  /** Passes or throws, without waiting: ejected first, then a long delay, then the breaker. */
  gate(): number {
    const { phase } = this.#life;
    if (this.isEjected) throw this.#ejectedFault();
    if (phase.kind === 'cooling') this.#refuseLongPause(phase.until);
    const pass = this.breaker.openPass;
    if (pass !== null) return pass;
    const admission = this.breaker.ask();
    if (admission.kind === 'admit') return admission.pass;
    throw this.#circuitFault(admission.retryAfterMs);
  }

  /** The open connection, if there is one now. */
  get connection(): C | undefined {
    return this.#life.connection;
  }

  /** The connection, started if necessary. The caller must hold a lease. */
  acquire(): Promise<C> {
    return this.#life.acquire();
  }

  /** A call on this generation timed out: restart the server only if a probe fails too. */
  suspect(generation: number): void {
    const connection = this.#life.connection;
    if (!connection || generation !== this.#life.generation || this.#probing === generation) return;
    this.#probing = generation;
    const judge = (isAlive: boolean) => {
      if (this.#probing === generation) this.#probing = 0;
      if (!isAlive) this.#life.hung(generation, hungFault(this.#parts.server));
    };
    const caught = (error: unknown) => {
      this.#parts.events.defects.caught('a timer', error, this.#parts.server);
    };
    connection
      .probe()
      .catch(() => false)
      .then(judge)
      .catch(caught);
  }

  /** Stores the latest fault for status. */
  noteFault(fault: Fault): void {
    this.#parts.standing.lastFault = {
      fault: forKeeping(fault),
      at: this.#parts.clock.wallNow(),
    };
  }

  // --- what an operator needs --------------------------------------------------------------

  /** Keeps the server running for an owner; a lazy server is started. */
  async lease(owner: string): Promise<Lease> {
    this.leases.hold();
    try {
      if (!this.connection) await this.acquire();
    } catch (error) {
      this.leases.release();
      throw error;
    }
    return this.leases.name(this.#parts.server, owner);
  }

  /** Stops the process, clears failures, and starts again if the server is in use. */
  async reload(): Promise<void> {
    this.#forgive();
    this.#emit({ kind: 'reloaded', server: this.#parts.server });
    await this.renew();
  }

  /** Stops the process, and starts another if the server is in use. */
  async renew(): Promise<void> {
    await this.#life.end('reload');
    if (this.leases.isWanted) this.#life.want();
  }

  /** Stops the process and clears failures. A later call starts it again. */
  async stop(): Promise<void> {
    this.#forgive();
    this.leases.pin(false);
    await this.#life.end('stop');
  }

  /** Stops the process if it is unused now: the idle pool needs its place. */
  evict(): void {
    if (!this.leases.isWanted) this.#life.unwanted();
  }

  /** Starts it without waiting: for pinned servers. */
  want(): void {
    this.#life.want();
  }

  /** Sets another policy for what happens from now on. */
  adopt(policy: SupervisorPolicy): void {
    this.#policy = policy;
    this.#life.policy = policy;
    this.leases.keepFor(policy.keepAliveMs);
  }

  // --- from one process to the next --------------------------------------------------------

  /** Gives its connection to the process after this one; undefined: there is none, or it cannot be given. */
  give<T>(give: (connection: C) => Promise<T | undefined>): Promise<T | undefined> {
    return this.#life.give(give);
  }

  /** All calls of a connection have ended: one that was given away is used no more, and nobody else says that. */
  ended(connection: C): void {
    if (connection === this.connection) this.#life.givenEnded();
  }

  /** Nothing is kept open here any more: what could not be given is closed soon after no call needs it. */
  letGo(): void {
    this.leases.keepFor(leftMs);
    this.leases.pin(false);
  }

  get written(): HandedSupervisor {
    const { written: life } = this.#life;
    return { life, leases: this.leases.written, hasStarted: this.#hasStarted };
  }

  /** As it was in the process before this one; `isHanded`: its connection is taken over now. */
  restore({ life, leases, hasStarted }: HandedSupervisor, isHanded: boolean): void {
    this.#hasStarted = hasStarted;
    this.#life.restore(life, isHanded);
    this.leases.restore(leases);
  }

  /** Permanently, but running calls may end before. */
  async retire(): Promise<void> {
    this.leases.end();
    await this.#life.end('remove');
  }

  /** Permanently. */
  async end(): Promise<void> {
    this.leases.end();
    await this.#life.end('end');
  }

  #forgive(): void {
    this.breaker.reset();
    this.#parts.standing.lastFault = undefined;
  }

  // --- what a reader sees ------------------------------------------------------------------

  get phase(): Phase {
    return this.#life.phase;
  }

  get generation(): number {
    return this.#life.generation;
  }

  get restarts(): number {
    return this.#life.restarts;
  }

  get restartsLeft(): number | null {
    return this.#life.restartsLeft;
  }

  get lastFault(): { readonly fault: Fault; readonly at: number } | undefined {
    return this.#parts.standing.lastFault;
  }

  /** The server's restart budget is spent, by this connection or another. */
  get isEjected(): boolean {
    return this.#parts.standing.restarts.ejected;
  }

  // --- what its life tells it --------------------------------------------------------------

  isWanted(): boolean {
    return this.leases.isWanted;
  }

  starting(generation: number): void {
    if (this.#hasStarted) this.#parts.standing.startsAgain += 1;
    this.#hasStarted = true;
    this.#emit({ kind: 'starting', server: this.#parts.server, generation });
  }

  ready(generation: number, connection: C, startMs: number): void {
    this.#tellReady(generation, connection, startMs, {});
  }

  #tellReady(generation: number, connection: C, startMs: number, how: { isAdopted?: true }): void {
    const { era, protocolVersion, pid } = connection;
    const { server } = this.#parts;
    this.#emit({ kind: 'ready', server, generation, era, protocolVersion, pid, startMs, ...how });
    this.#parts.connected(connection);
  }

  adopted(generation: number, connection: C): void {
    this.#tellReady(generation, connection, 0, { isAdopted: true });
  }

  startFailed(generation: number, fault: Fault): void {
    const { server } = this.#parts;
    // Messages so far belonged to no call.
    const named = fault.with({ server, generation, dispatched: 'no' });
    this.noteFault(named);
    if (faultTable[named.code].trips) this.breaker.failed(this.breaker.currentPass);
    const { code, message: detail } = named;
    this.#emit({ kind: 'start-failed', server, generation, code, detail, ...stderrOf(named) });
  }

  lost(generation: number, cause: Fault): void {
    const { server } = this.#parts;
    this.noteFault(cause.with({ server, generation }));
    // An exit while it was unused spends the restart budget, but no call has failed because of it.
    if (this.leases.held > 0) this.breaker.failed(this.breaker.currentPass);
    const { message: detail } = cause;
    this.#emit({ kind: 'lost', server, generation, detail, ...stderrOf(cause) });
  }

  stopping(generation: number, reason: StopReason): void {
    this.#emit({ kind: 'stopping', server: this.#parts.server, generation, reason });
  }

  stopped(generation: number, swept: number): void {
    this.#emit({ kind: 'stopped', server: this.#parts.server, generation, swept });
  }

  news(news: 'cooling' | 'ejected' | 'idle', delayMs: number): void {
    const { server } = this.#parts;
    if (news === 'cooling') {
      this.#emit({ kind: news, server, delayMs, restartsLeft: this.restartsLeft });
    } else if (news === 'ejected') {
      this.#emit({ kind: news, server, detail: this.#ejectedFault().message });
    } else {
      this.#emit({ kind: news, server });
    }
  }

  refusal(why: 'start-failed' | 'ejected' | 'stopped'): Fault {
    const { server } = this.#parts;
    if (why === 'start-failed' && this.lastFault) return this.lastFault.fault;
    if (why === 'ejected') return this.#ejectedFault();
    if (this.#parts.standing.isRemoved) return removedFault(server);
    return new Fault('unavailable', `${server} was stopped; call it again to start it`, { server });
  }

  #emit(happening: Happening): void {
    this.#parts.events.emit(happening);
  }

  // --- faults ------------------------------------------------------------------------------

  /**
   * A caller waits for a server as long as it may take to start; if the wait is longer, the fault
   * says until when.
   */
  #refuseLongPause(until: number): void {
    const { server, clock } = this.#parts;
    const retryAfterMs = Math.ceil(until - clock.now());
    if (retryAfterMs <= this.#policy.startTimeoutMs) return;
    const seconds = Math.ceil(retryAfterMs / 1000);
    throw new Fault(
      this.lastFault?.fault.code === 'overloaded' ? 'overloaded' : 'unavailable',
      `${server} is failing${this.#lastCause()}; next attempt in ${seconds} s`,
      { server, retryAfterMs },
    );
  }

  #ejectedFault(): Fault {
    const { server } = this.#parts;
    const { max, windowMs } = this.#policy.restart;
    return new Fault(
      'ejected',
      `${server} failed more than ${max} times within ${windowMs / 1000} s, so its restart budget is exhausted${this.#lastCause()}; ` +
        `fix it, then bring it back with: holdfast reload ${server} (without a shared instance: start Holdfast again; in a program: call host.reload('${server}'))`,
      { server, generation: this.#life.generation },
    );
  }

  #circuitFault(retryAfterMs: number): Fault {
    const { server } = this.#parts;
    const seconds = Math.ceil(retryAfterMs / 1000);
    return new Fault(
      'circuit_open',
      `${server} failed ${this.breaker.failures} times in a row${this.#lastCause()}; ` +
        `retry after ${seconds} s`,
      { server, retryAfterMs: Math.ceil(retryAfterMs) },
    );
  }

  #lastCause(): string {
    return this.lastFault ? ` (last: ${this.lastFault.fault.message})` : '';
  }
}

function stderrOf({ record }: Fault): { readonly stderr?: string } {
  return record.stderr === undefined ? {} : { stderr: record.stderr };
}

/**
 * For a call that is not sent (any more), because its server is no longer registered. Whether it was sent before,
 * `dispatched` says.
 */
export function removedFault(server: string): Fault {
  return new Fault('not_found', `${server} was removed from the config`, { server });
}

function hungFault(server: string): Fault {
  return new Fault(
    'timeout',
    `${server} answers neither its calls nor a probe; it is being restarted`,
    { server, dispatched: 'maybe' },
  );
}
