// Reports of a store about its disk, each problem once. A problem that persists is not reported
// with every operation; when the disk works again, the list is cleared, so that the next problem is
// reported.

import { remedyFor } from '../kernel/disk-remedy.ts';
import { errnoOf } from '../kernel/errno.ts';

/** Something a person should know; `detail` is one line that says what to do. */
export interface StoreProblem {
  readonly kind:
    | 'damaged'
    | 'newer'
    | 'unreadable'
    | 'unwritable'
    | 'refused'
    | 'dropped'
    | 'recovered';
  readonly file: string;
  /** The system's error code, where there is one. */
  readonly code: string | null;
  readonly detail: string;
}

/** Damaged files are reported one by one; beyond this many some are reported again. */
const maxSaid = 1_000;

const failures = {
  unreadable: { cannot: 'read', so: ' and counts as absent' },
  unwritable: { cannot: 'written', so: ', so changes are kept in memory only' },
  /** For data that must survive a crash. */
  refused: { cannot: 'written', so: ', so the change is not kept' },
} as const;

export class Complaints {
  readonly #report: (problem: StoreProblem) => void;
  /** What was reported, until the disk works again; at most `maxSaid`. */
  readonly #said = new Set<string>();

  constructor(report: (problem: StoreProblem) => void) {
    this.#report = report;
  }

  /** Reports the problem unless it was reported before; `subject` identifies the problem. */
  say(problem: StoreProblem, subject: string): void {
    const topic = `${problem.kind} ${subject}`;
    if (this.#said.has(topic)) return;
    if (this.#said.size >= maxSaid) this.#said.clear();
    this.#said.add(topic);
    this.#report(problem);
  }

  /** A failing disk is one problem for each error code, however many files it affects. */
  failure(kind: keyof typeof failures, file: string, error: unknown): StoreProblem {
    const code = errnoOf(error);
    // Not a disk error but an internal one, which must not be hidden.
    if (code === undefined) throw error;
    const { cannot, so } = failures[kind];
    const detail = `${file} cannot be ${cannot} (${code})${so}: ${remedyFor(code)}`;
    const problem = { kind, file, code, detail };
    this.say(problem, code);
    return problem;
  }

  /** The disk works again: the next problem is a new one. */
  recovered(file: string, how: string): void {
    this.#said.clear();
    const detail = `${file} ${how}`;
    this.#report({ kind: 'recovered', file, code: null, detail });
  }
}
