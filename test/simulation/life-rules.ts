// The rules about a server's life, judged from the host's own events and from the processes that
// really exist. Generations go up by one and never come back; a connection becomes ready only while
// its own start runs; the restart budget and the backoff are kept; and there is one process of a
// name at a time, apart from one that is being closed.
//
// The budget, exactly: with `max` M and `windowMs` W, no start begins while more than M failures
// (failed starts and lost connections) are younger than or as old as W since the last forgiveness
// (reload, stop or registration); failure M + 1 ejects the server in the same moment, and then
// nothing starts before a forgiveness. A start that failed for want of something of the machine's
// (`overloaded`) is no failure of the server: it spends nothing, and is only tried again later. Every start but the first follows a failure or an orderly
// end, so the starts in a window are at most M + 1 and one for each orderly end in it. A start
// spawns one process, and a second only if the first one ended before it had answered the probe.

import type { ServerConfig } from '../../src/config/schema.ts';
import type { HostEvent } from '../../src/observe/events.ts';
import type { Violated } from './call-rules.ts';
import type { SimChild } from './sim-child.ts';

const healthyMs = 60_000;
/** Jitter shortens a delay by this much at most; rounding by less than a millisecond. */
const jitterShare = 0.2;
/** Of a remote server without a budget. */
const remoteDelays = { minDelayMs: 500, maxDelayMs: 300_000 };

export class LifeRules {
  readonly #name: string;
  readonly #config: ServerConfig;
  readonly #violated: Violated;
  /** `handed`: the process before has given its connection, and it is being taken over. */
  #phase: 'idle' | 'handed' | 'starting' | 'ready' | 'stopping' | 'ejected' = 'idle';
  #generation = 0;
  #failures: number[] = [];
  #shortages: number[] = [];
  #streak = 0;
  #readySince = 0;
  #notBefore = 0;
  #mustEject = false;
  #spawns: SimChild[] = [];

  constructor(name: string, config: ServerConfig, violated: Violated) {
    this.#name = name;
    this.#config = config;
    this.#violated = violated;
  }

  /** Forgiveness: a reload or a stop, before its effects are heard. */
  forgiven(): void {
    this.#failures = [];
    this.#shortages = [];
    this.#streak = 0;
    this.#notBefore = 0;
    this.#mustEject = false;
    if (this.#phase === 'ejected') this.#phase = 'idle';
  }

  // --- a rollout ---------------------------------------------------------------------------

  copy(): LifeRules {
    const copy = new LifeRules(this.#name, this.#config, this.#violated);
    copy.#phase = this.#phase;
    copy.#generation = this.#generation;
    copy.#failures = this.#failures;
    copy.#shortages = this.#shortages;
    copy.#streak = this.#streak;
    copy.#readySince = this.#readySince;
    copy.#notBefore = this.#notBefore;
    copy.#mustEject = this.#mustEject;
    return copy;
  }

  /** It is the next process's now; what was begun here may get another one. */
  given(): void {
    this.#phase = 'idle';
  }

  /** Goes on where it was in the process before; of another program nothing but the generation counts. */
  inherit(before: LifeRules, isSame: boolean, isGiven: boolean): void {
    this.#generation = before.#generation;
    if (!isSame) return;
    this.#failures = before.#failures;
    this.#shortages = before.#shortages;
    this.#streak = before.#streak;
    this.#readySince = before.#readySince;
    this.#notBefore = before.#notBefore;
    const isEjected = before.#mustEject || before.#phase === 'ejected';
    this.#phase = isEjected ? 'ejected' : isGiven ? 'handed' : 'idle';
  }

  heard(event: HostEvent, at: number): void {
    switch (event.kind) {
      case 'starting':
        return this.#starting(event.generation, at);
      case 'ready':
        this.#expect(event, event.isAdopted ? ['handed'] : ['starting']);
        this.#phase = 'ready';
        if (!event.isAdopted) this.#readySince = at;
        return;
      case 'start-failed':
        this.#expect(event, ['starting']);
        this.#phase = 'idle';
        return event.code === 'overloaded' ? this.#short(at) : this.#failed(at, 0);
      case 'lost':
        this.#expect(event, ['ready', 'handed']);
        this.#phase = 'idle';
        return this.#failed(at, at - this.#readySince);
      case 'stopping':
        // A hung server was lost a moment ago, and is closed for it.
        this.#expect(event, event.reason === 'hung' ? ['idle'] : ['starting', 'ready', 'handed']);
        this.#phase = 'stopping';
        return;
      case 'ejected':
        if (!this.#mustEject) this.#violated('restart-budget', `${this.#name} ejected too early`);
        this.#mustEject = false;
        this.#phase = 'ejected';
        return;
      case 'cooling':
        this.#judgeBudget(event.restartsLeft, at);
        return this.#judgeEjection();
      case 'idle':
        return this.#judgeEjection();
    }
  }

  #judgeEjection(): void {
    if (this.#mustEject) {
      this.#violated('restart-budget', `${this.#name} spent its budget and was not ejected`);
    }
  }

  #judgeBudget(left: number | null, at: number): void {
    const { restart } = this.#config;
    if (!restart) return;
    const counted = this.#failures.filter((failedAt) => at - failedAt <= restart.windowMs).length;
    const due = Math.max(0, restart.max - counted);
    if (left === due) return;
    this.#violated('restart-budget', `${this.#name} has ${left} restarts left, and not ${due}`);
  }

  /** For want of something of the machine's: it waits longer each time, and spends nothing. */
  #short(at: number): void {
    const { windowMs } = this.#config.restart ?? { windowMs: 300_000 };
    this.#shortages = [...this.#shortages, at].filter((shortAt) => at - shortAt <= windowMs);
    this.#mustWait(at, this.#shortages.length);
  }

  #mustWait(at: number, times: number): void {
    const { minDelayMs, maxDelayMs } = this.#config.restart ?? remoteDelays;
    const delayMs = Math.min(minDelayMs * 2 ** Math.min(times - 1, 30), maxDelayMs);
    this.#notBefore = at + delayMs * (1 - jitterShare) - 1;
  }

  #starting(generation: number, at: number): void {
    if (generation !== this.#generation + 1) {
      this.#violated('generations', `${this.#name}: ${generation} follows ${this.#generation}`);
    }
    if (this.#phase === 'starting' || this.#phase === 'ready' || this.#phase === 'handed') {
      this.#violated('generations', `${this.#name} starts while it is ${this.#phase}`);
    }
    if (this.#phase === 'ejected') {
      this.#violated('restart-budget', `${this.#name} starts although it is ejected`);
    }
    const { max, windowMs } = this.#config.restart ?? { max: Infinity, windowMs: 0 };
    const counted = this.#failures.filter((failedAt) => at - failedAt <= windowMs).length;
    if (counted > max) {
      this.#violated('restart-budget', `${this.#name} starts after ${counted} failures`);
    }
    if (at < this.#notBefore) {
      this.#violated('backoff', `${this.#name} starts ${this.#notBefore - at} ms too early`);
    }
    this.#generation = generation;
    this.#phase = 'starting';
    this.#spawns = [];
  }

  #failed(at: number, readyMs: number): void {
    const { restart } = this.#config;
    const { max, windowMs } = restart ?? { max: Infinity, windowMs: 0 };
    this.#failures = [...this.#failures, at].filter((failedAt) => at - failedAt <= windowMs);
    this.#mustEject = restart !== null && this.#failures.length > max;
    this.#streak = readyMs >= healthyMs ? 1 : this.#streak + 1;
    this.#mustWait(at, this.#streak);
  }

  #expect(event: Extract<HostEvent, { generation: number }>, phases: readonly string[]): void {
    if (event.generation !== this.#generation || !phases.includes(this.#phase)) this.#wrong(event);
  }

  #wrong(event: HostEvent): void {
    const { kind, server } = event;
    const generation = 'generation' in event ? event.generation : '';
    this.#violated(
      'generations',
      `${server}: '${kind}' of generation ${generation} while generation ${this.#generation} is ${this.#phase}`,
    );
  }

  /** `before`: what is left of earlier processes of this name. */
  spawned(child: SimChild, before: readonly SimChild[]): void {
    const rivals = before.filter((other) => other.isAlive && !other.isBeingClosed);
    if (rivals.length > 0) {
      this.#violated('one-start', `${this.#name}: ${child.pid} beside ${rivals[0]?.pid}`);
    }
    this.#spawns.push(child);
    if (this.#spawns.length > 2 || this.#spawns.slice(0, -1).some((first) => first.isAlive)) {
      this.#violated('one-start', `${this.#name} spawns ${this.#spawns.length} in one start`);
    }
  }
}
