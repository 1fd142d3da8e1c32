// The contract of the table of processes, and which processes are below which. A process is
// identified by pid and start time together, because a pid alone may belong to another process a
// moment later. `system-processes.ts` chooses between /proc and `ps` to read it.

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; equal if and only if it is the same process. Without spaces. */
  readonly start: string;
}

export interface ProcessRow extends ProcessIdentity {
  readonly parent: number;
  readonly group: number;
  /** The process group where the session is unknown. */
  readonly session: number;
  /** Dead, but not yet reaped by its parent: there is nothing left to end. */
  readonly isZombie: boolean;
}

export interface ProcessTable {
  /** Whether it can read environments, and so markers. */
  readonly seesEnvironments: boolean;
  /** The process of this pid now; null when there is none. */
  find(pid: number): Promise<ProcessRow | null>;
  rows(): Promise<readonly ProcessRow[]>;
  /** Which of these, if they are not older than `since`, carry the token in their environment. */
  carrying(token: string, rows: readonly ProcessRow[], since: string): Promise<ReadonlySet<number>>;
  /** The processes below this one, itself not included. */
  descendants(pid: number): Promise<readonly ProcessRow[]>;
  /** The resident memory of these processes together, in bytes. */
  residentBytes(processes: readonly ProcessIdentity[]): Promise<number>;
}

export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity | null): boolean {
  return b !== null && a.pid === b.pid && a.start === b.start;
}

/** All rows below `pid`, by parentage. */
export function below(pid: number, rows: readonly ProcessRow[]): readonly ProcessRow[] {
  const found = new Map<number, ProcessRow>();
  const parents = new Set([pid]);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const row of rows) {
      if (!parents.has(row.parent) || found.has(row.pid)) continue;
      found.set(row.pid, row);
      parents.add(row.pid);
    }
  }
  found.delete(pid);
  return [...found.values()];
}
