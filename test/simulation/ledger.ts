// What the simulated servers did, written down by themselves: a call was read, its effect began, its
// effect was done. Like the ledger of a real server it knows nothing of our side; whether a call ran
// twice is judged from here and from nowhere else.

export type Phase = 'received' | 'begin' | 'done';

/** One call as its server sees it. */
export interface ServedCall {
  readonly server: string;
  readonly tool: string;
  readonly nonce: string;
  /** How long it was asked to take. */
  readonly workMs: number;
  /** The process that serves it, or 0 for a remote server. */
  readonly pid: number;
  /** Which definition of its tools the server had. */
  readonly definition: number;
  /** Counts executions of anything by anyone; it comes back in the result. */
  readonly run: number;
}

/** How an execution ended, and what its result says of itself. */
export interface Outcome {
  readonly call: ServedCall;
  readonly at: number;
  readonly isError: boolean;
  /** How long the server says it may be kept; 0 if it says nothing. */
  readonly ttlMs: number;
  readonly isPublic: boolean;
}

export interface LedgerLine {
  readonly at: number;
  readonly phase: Phase;
  readonly call: ServedCall;
}

export class Ledger {
  readonly #byNonce = new Map<string, LedgerLine[]>();
  readonly #noted: (line: LedgerLine) => void;
  /** By run. */
  readonly outcomes = new Map<number, Outcome>();
  /** When a process had printed the whole answer of a run. */
  readonly answeredAt = new Map<number, number>();
  #size = 0;
  #lastRun = 0;

  constructor(noted: (line: LedgerLine) => void) {
    this.#noted = noted;
  }

  get size(): number {
    return this.#size;
  }

  nextRun(): number {
    this.#lastRun += 1;
    return this.#lastRun;
  }

  note(at: number, phase: Phase, call: ServedCall): void {
    const line: LedgerLine = { at, phase, call };
    const known = this.#byNonce.get(call.nonce);
    if (known) known.push(line);
    else this.#byNonce.set(call.nonce, [line]);
    this.#size += 1;
    this.#noted(line);
  }

  of(nonce: string): readonly LedgerLine[] {
    return this.#byNonce.get(nonce) ?? [];
  }

  count(nonce: string, phase: Phase): number {
    return this.of(nonce).filter((line) => line.phase === phase).length;
  }
}
