// What a store has to say to a person about its disk, each thing once. A problem that still holds is not
// repeated with every call; when the disk works again, the slate is wiped, so that the next one is heard.

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

/** A folder of damaged files is told file by file; beyond this many some are told again. */
const maxSaid = 1_000;

const failures = {
  unreadable: { cannot: 'read', so: ' and counts as absent' },
  unwritable: { cannot: 'written', so: ', so changes are kept in memory only' },
  /** Of what must outlive a crash. */
  refused: { cannot: 'written', so: ', so the change is not kept' },
} as const;

export class Complaints {
  readonly #report: (problem: StoreProblem) => void;
  /** What was said, until the disk works again; at most `maxSaid`. */
  readonly #said = new Set<string>();

  constructor(report: (problem: StoreProblem) => void) {
    this.#report = report;
  }

  /** Reports the problem unless it has been said; `subject` is what makes it the same problem. */
  say(problem: StoreProblem, subject: string): void {
    const topic = `${problem.kind} ${subject}`;
    if (this.#said.has(topic)) return;
    if (this.#said.size >= maxSaid) this.#said.clear();
    this.#said.add(topic);
    this.#report(problem);
  }

  /** A disk that fails is one problem for each error code, however many files are met by it. */
  failure(kind: keyof typeof failures, file: string, error: unknown): StoreProblem {
    const code = errnoOf(error);
    // Not the disk's doing but a defect of ours: that must not be hidden.
    if (code === undefined) throw error;
    const { cannot, so } = failures[kind];
    const detail = `${file} cannot be ${cannot} (${code})${so}: ${remedyFor(code)}`;
    const problem = { kind, file, code, detail };
    this.say(problem, code);
    return problem;
  }

  /** The disk works again: what is said of it from now on is news. */
  recovered(file: string, how: string): void {
    this.#said.clear();
    const detail = `${file} ${how}`;
    this.#report({ kind: 'recovered', file, code: null, detail });
  }
}
