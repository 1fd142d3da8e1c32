// Which faults happen, and how often. Every seed has its own rates: some kinds of faults are possible in
// it and others are not, because rare combinations are found by many different mixes and not by one with
// everything in it. Within a run phases with more and with fewer faults follow each other, so that servers
// also recover. After `stop` no new fault happens; what has failed stays so. How a process ends, with which
// code or signal, is drawn here too, and counted.

import type { Exit } from '../../src/supervise/child.ts';
import type { Dice } from './random.ts';

/** How likely each fault is at each opportunity for it, in an average phase. */
const rates = {
  // The process and its pipes.
  'spawn-eagain': 0.04,
  'spawn-emfile': 0.04,
  'spawn-refused': 0.04,
  'spawn-slow': 0.08,
  'exit-at-start': 0.08,
  'exit-before-greeting': 0.06,
  'exit-before-effect': 0.04,
  'exit-after-effect': 0.04,
  'exit-idle': 0.03,
  'ignore-eof': 0.3,
  'ignore-term': 0.3,
  'leave-strays': 0.15,
  'stop-reading': 0.02,
  'close-stdin': 0.01,
  'close-stdout': 0.01,
  'write-error': 0.01,
  'torn-chunks': 0.2,
  // What it says.
  'hang-spawned': 0.03,
  'hang-discover': 0.08,
  'hang-initialize': 0.08,
  'hang-initialized': 0.04,
  'hang-list': 0.08,
  'hang-call': 0.03,
  'hang-after-effect': 0.03,
  'hang-ping': 0.3,
  freeze: 0.015,
  'slow-start': 0.1,
  'slow-answer': 0.2,
  'late-answer': 0.5,
  'duplicate-answer': 0.05,
  'unknown-id': 0.05,
  'foreign-id': 0.05,
  'half-line-death': 0.02,
  'garbage-line': 0.06,
  'damaged-answer': 0.02,
  'oversized-line': 0.02,
  'garbage-flood': 0.01,
  'log-lines': 0.04,
  'strange-notification': 0.02,
  'server-request': 0.05,
  'list-changed': 0.05,
  'changed-definition': 0.25,
  'changed-era': 0.04,
  'failed-list': 0.08,
  'rpc-error': 0.05,
  'tool-error': 0.05,
  // The network and what a remote server says by status.
  'http-refused': 0.05,
  'http-reset-unread': 0.03,
  'http-reset-before-effect': 0.03,
  'http-reset-after-effect': 0.03,
  'http-hang': 0.03,
  'http-hang-notification': 0.03,
  'http-503-before-effect': 0.03,
  'http-503-after-effect': 0.03,
  'http-429': 0.03,
  'http-401': 0.01,
  'http-404': 0.02,
  'session-404': 0.03,
  'stream-end': 0.03,
  'slow-drip': 0.05,
  'http-garbage': 0.02,
  // The machine.
  'wall-jump': 0.3,
  'host-killed': 0.15,
  'host-ended': 0.06,
  'former-killed': 0.08,
  'successor-lost': 0.1,
  'successor-refuses': 0.1,
  'successor-lost-behind-fence': 0.2,
  'link-slow': 0.2,
  'disk-slow': 0.05,
  'disk-eio': 0.05,
  'disk-enospc': 0.05,
  'disk-erofs': 0.05,
  'disk-unreadable': 0.05,
  'disk-rot': 0.05,
  'torn-write': 0.5,
} as const;

export type FaultKind = keyof typeof rates;

export const faultKinds = Object.keys(rates) as FaultKind[];

/** The factors of a phase. */
const phaseFactors = [0, 0.4, 1, 1, 3] as const;

/** Codes by what they stand for: fine, failed, misused, sysexits.h, the shell's own, a signal's. */
const exitCodes: readonly [readonly [number, ...number[]], ...(readonly [number, ...number[]])[]] =
  [
    [0],
    [1],
    [2],
    [64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77],
    [78],
    [126, 127],
    [129, 130, 134, 137, 139, 141, 143],
    [255],
  ];
const exitSignals = [
  ...(['SIGKILL', 'SIGTERM', 'SIGSEGV', 'SIGABRT', 'SIGPIPE', 'SIGBUS'] as const),
  ...(['SIGHUP', 'SIGINT', 'SIGILL', 'SIGFPE', 'SIGXCPU'] as const),
] as const;

export class FaultInjection {
  readonly counts = new Map<FaultKind, number>();
  /** How often a process has ended by itself with each code or signal. */
  readonly exits = new Map<string, number>();
  readonly #dice: Dice;
  readonly #rates = new Map<FaultKind, number>();
  #phaseFactor = 1;
  #isStopped = false;

  /** `without`: kinds that do not happen, to cut a failing run down to what matters. */
  constructor(dice: Dice, without: ReadonlySet<FaultKind> = new Set()) {
    this.#dice = dice;
    const severity = dice.pick([0.5, 1, 1, 2]);
    for (const kind of faultKinds) {
      const rate = dice.chance(0.6) ? rates[kind] * severity * dice.pick([0.5, 1, 2]) : 0;
      this.#rates.set(kind, without.has(kind) ? 0 : rate);
    }
  }

  /** Whether this fault happens here and now. */
  occurs(kind: FaultKind): boolean {
    if (this.#isStopped || this.#phaseFactor === 0) return false;
    const rate = this.#rates.get(kind) ?? 0;
    if (!this.#dice.chance(rate * this.#phaseFactor)) return false;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    return true;
  }

  /** How a process that ends by itself does so. */
  exit(): Exit {
    const dice = this.#dice;
    const isSignal = dice.chance(0.4);
    const code = isSignal ? null : dice.pick(dice.pick(exitCodes));
    const signal = isSignal ? dice.pick(exitSignals) : null;
    const name = signal ?? `code ${code}`;
    this.exits.set(name, (this.exits.get(name) ?? 0) + 1);
    return { code, signal };
  }

  /** Another phase begins. Resolves to how long it lasts. */
  change(): number {
    this.#phaseFactor = this.#dice.pick(phaseFactors);
    return this.#dice.between(5_000, 30_000);
  }

  stop(): void {
    this.#isStopped = true;
  }
}
