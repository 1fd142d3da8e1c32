// The disk faults of a gateway, as the file that preload.mjs reads: which operation on which files is the
// last one, and which operations fail. It can be rewritten while the gateway runs. What was injected is read
// back from the journal.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What can happen to a file or folder of the state directory. */
export type Operation =
  | 'read'
  | 'open'
  | 'write'
  | 'datasync'
  | 'close'
  | 'rename'
  | 'folder sync'
  | 'remove'
  | 'truncate'
  | 'mkdir'
  | 'chmod';

/** Some operations on some files; `under` are beginnings of paths within the state directory. */
interface Aim {
  readonly under: readonly string[];
  /** Null: all of them. */
  readonly ops: readonly Operation[] | null;
}

export interface Strike extends Aim {
  /** The how manieth of these operations, from 1. */
  readonly nth: number;
  readonly when: 'before' | 'inside' | 'after';
  /** How much of a write is done when it ends inside. */
  readonly share: number;
  readonly isPowerCut: boolean;
}

export interface Failure extends Aim {
  readonly code: string;
  /** So often; null: until the plan changes. */
  readonly times: number | null;
}

export interface Conditions {
  readonly strike?: Strike;
  readonly fail?: Failure;
  /** Of the power cut. */
  readonly seed?: number;
}

/** The blow that ended a gateway, as it noted it itself. */
export interface Struck {
  readonly op: Operation;
  readonly path: string;
  readonly when: Strike['when'];
  readonly part?: string;
  readonly isPowerCut: boolean;
  readonly undone: readonly string[];
}

const preload = pathToFileURL(fileURLToPath(new URL('./preload.mjs', import.meta.url))).href;

export class FaultPlan {
  readonly #state: string;
  readonly #file: string;
  readonly #journal: string;
  readonly #backups: string;

  constructor(folder: string, state: string) {
    this.#state = state;
    this.#file = join(folder, 'fault-plan.json');
    this.#journal = join(folder, 'injected-faults.jsonl');
    this.#backups = join(folder, 'backups');
    mkdirSync(this.#backups);
    this.set({});
  }

  /** What to put before the gateway's own arguments. */
  get nodeArguments(): readonly string[] {
    return ['--import', preload];
  }

  get env(): Readonly<Record<string, string>> {
    return { HOLDFAST_TEST_FAULT_PLAN: this.#file };
  }

  set(conditions: Conditions): void {
    const plan = {
      state: this.#state,
      journal: this.#journal,
      backups: this.#backups,
      ...conditions,
    };
    writeFileSync(`${this.#file}.new`, JSON.stringify(plan));
    renameSync(`${this.#file}.new`, this.#file);
  }

  /** The blow that this process took, if one did. */
  struck(pid: number): Struck | undefined {
    return this.#notes('struck').find((note) => note.pid === pid);
  }

  #notes(kind: string): (Struck & { readonly pid: number })[] {
    const lines = textOf(this.#journal).split('\n').slice(0, -1);
    const notes = lines.map((line) => JSON.parse(line) as Struck & { pid: number; kind: string });
    return notes.filter((note) => note.kind === kind);
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    // Nothing has happened yet.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
