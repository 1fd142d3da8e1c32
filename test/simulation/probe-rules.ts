// The rule about a half-open circuit: one probe at a time, and a slot that comes back. Seen from
// outside: whoever asks while the circuit is half open is either turned away with `circuit_open` or
// admitted. Two who were admitted by the same half-open circuit never overlap, unless the first was
// overdue; and nobody is turned away while no one can hold the slot.

import type { Config } from '../../src/config/schema.ts';
import type { FaultCode } from '../../src/kernel/fault.ts';
import type { Violated } from './call-rules.ts';

/** How something comes to a gate. */
export interface Manner {
  /** False if an answer from memory is possible, so that the gate may not have been asked. */
  readonly hasAsked: boolean;
  /** What it began may go on when it is over: a look asks several servers, a key keeps its execution. */
  readonly isLook: boolean;
}

/** Something that came to a half-open circuit: a call, a lease, a look at the tools. */
interface Arrival extends Manner {
  readonly what: string;
  readonly server: string;
  readonly begunAt: number;
  readonly begunStep: number;
}

export interface Passage extends Arrival {
  /** Which half-open circuit: they are counted. */
  readonly epoch: number;
  /** Of the process it came to. */
  readonly of: ProbeRules;
  endedStep: number;
}

/** Endings from before or at the gate that say nothing about the slot. */
const neutral: ReadonlySet<FaultCode> = new Set([
  'not_found',
  'invalid_request',
  'denied',
  'budget_exceeded',
  'conflict',
  'ejected',
  'draining',
]);

/** Endings that prove the server alive: what a probe is for. A spent byte had come from it. */
function isProof(code: FaultCode | undefined): boolean {
  return code === undefined || code === 'rpc_error' || code === 'budget_exceeded';
}

const remembered = 64;

export type Circuit = 'closed' | 'open' | 'half_open';

export class ProbeRules {
  readonly #violated: Violated;
  readonly #config: Config;
  /** How often each circuit has changed: two who met the same half-open one met the same number. */
  readonly #changes = new Map<string, number>();
  readonly #forgivenInStep = new Map<string, number>();
  /** Those that are under way, and the last that have ended: whoever may have had a slot. */
  readonly #holders = new Set<Passage>();
  readonly #admitted: Passage[] = [];
  readonly #circuits = new Map<string, Circuit>();
  /** Servers whose circuit a probe must have closed in this step. */
  readonly #closed = new Set<string>();
  readonly #proven = new Set<string>();

  constructor(config: Config, violated: Violated) {
    this.#config = config;
    this.#violated = violated;
  }

  began(arrival: Arrival): Passage {
    const epoch = this.#changes.get(arrival.server) ?? 0;
    const passage: Passage = { ...arrival, epoch, of: this, endedStep: Infinity };
    this.#holders.add(passage);
    return passage;
  }

  /** A reload or a stop closes it whatever it was. */
  forgiven(server: string, step: number): void {
    this.#forgivenInStep.set(server, step);
  }

  /** The circuits as they are now. */
  get written(): ReadonlyMap<string, Circuit> {
    return new Map(this.#circuits);
  }

  /** A probe that runs is of the process before: another one may begin, and it closes nothing here. */
  inherit(before: ReadonlyMap<string, Circuit>, isSame: (server: string) => boolean): void {
    for (const [server, circuit] of before) {
      if (isSame(server)) this.#circuits.set(server, circuit);
    }
  }

  /** A new server begins with a closed circuit, and nobody is told. */
  registered(server: string): void {
    this.#circuits.delete(server);
  }

  changed(server: string, circuit: Circuit, step: number): void {
    const isForgiven = this.#forgivenInStep.get(server) === step;
    this.#changes.set(server, (this.#changes.get(server) ?? 0) + 1);
    const before = this.#circuits.get(server) ?? 'closed';
    this.#circuits.set(server, circuit);
    if (circuit === 'closed' && !isForgiven) {
      if (before === 'half_open') this.#closed.add(server);
      else this.#violated('breaker', `${server}: closed while it was ${before}`);
    } else if (circuit === 'half_open' && before !== 'open') {
      this.#violated('breaker', `${server}: half open while it was ${before}`);
    }
  }

  /** At the end of a step: whatever closed a half-open circuit was its probe, not an old success. */
  settled(step: number): void {
    for (const server of this.#closed) {
      const mayHaveProbed = [...this.#holders].some(
        (passage) => passage.server === server && passage.isLook && passage.endedStep >= step,
      );
      if (this.#proven.has(server) || mayHaveProbed) continue;
      this.#violated('breaker', `${server}: closed, but not by its probe`);
    }
    this.#closed.clear();
    this.#proven.clear();
  }

  /** `code`: the fault it ended in; undefined if it succeeded. */
  ended(passage: Passage, step: number, code: FaultCode | undefined): void {
    passage.endedStep = step;
    if (isProof(code)) this.#proven.add(passage.server);
    const isLeftAlone = code === 'unavailable' || code === 'overloaded';
    if (isLeftAlone && passage.begunStep === step) {
      // A server that is left alone for long is not asked for: nothing fails as fast as that. Whether
      // the gate or the start said so cannot be seen: it may have had the slot within this step.
    } else if (code === 'circuit_open') {
      this.#holders.delete(passage);
      if (passage.hasAsked) this.#judgeRefused(passage);
    } else if (code === undefined || !neutral.has(code)) {
      if (passage.hasAsked) this.#judgeAdmitted(passage);
    }
    if (this.#holders.size > remembered) this.#forget(step);
  }

  #judgeAdmitted(passage: Passage): void {
    for (const other of this.#admitted) {
      if (other.server !== passage.server || other.epoch !== passage.epoch) continue;
      const isFirst = other.begunStep <= passage.begunStep;
      const [first, second] = isFirst ? [other, passage] : [passage, other];
      const isOverdue = second.begunAt - first.begunAt >= this.#probeMs(passage.server);
      if (first.endedStep > second.begunStep && !isOverdue) {
        this.#violated('breaker', `${passage.server}: ${first.what} and ${second.what} both probe`);
      }
    }
    this.#admitted.push(passage);
    if (this.#admitted.length > remembered) this.#admitted.shift();
  }

  /** It was turned away, so somebody must have had the slot when it asked. */
  #judgeRefused({ what, server, begunStep }: Passage): void {
    for (const other of this.#holders) {
      if (other.server === server && other.begunStep <= begunStep && other.endedStep >= begunStep) {
        return;
      }
    }
    this.#violated('breaker', `${server}: ${what} was turned away, but nobody probes`);
  }

  /** How long a probe may keep the slot. */
  #probeMs(name: string): number {
    const server = this.#config.mcpServers[name];
    return (server?.startTimeoutMs ?? 0) + (server?.callTimeoutMs ?? 0);
  }

  #forget(step: number): void {
    for (const passage of this.#holders) {
      if (passage.endedStep < step) this.#holders.delete(passage);
    }
  }
}
