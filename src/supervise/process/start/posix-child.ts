// Implements the contract of `child.ts` for one child: its streams, its tree and its limits. It
// also interprets the exit: through the shells of a pid namespace a signal arrives as 128 + n, and
// an exceeded limit is named.

import { constants } from 'node:os';
import { ignored } from '../../../kernel/contain.ts';
import { Fault } from '../../../kernel/fault.ts';
import type { Child, ChildListener, Containment, Exit, HandedChild } from '../../child.ts';
import type { Limits, TreeCgroup } from '../contain/cgroup.ts';
import type { ProcessTable } from '../watch/process-table.ts';
import type { ProcessTree } from '../watch/process-tree.ts';
import type { Rounds } from '../watch/tree-watch.ts';
import {
  type BrokenLimit,
  exitWithLimit,
  hasLimits,
  limitBrokenByCount,
  limitBrokenInCgroup,
} from './child-limits.ts';
import type { PosixChildState } from './child-state.ts';
import type { ChildStreams, RawExit } from './child-streams.ts';

export interface PosixChildParts {
  /** The process that a user sees and may kill: the server's own, also inside a namespace. */
  readonly pid: number;
  readonly streams: ChildStreams;
  readonly tree: ProcessTree;
  readonly table: ProcessTable;
  readonly containment: Containment;
  readonly isStateHidden: boolean;
  readonly limits: Limits;
  /** The groups that enforce the limits; null when they are enforced by measurement. */
  readonly limiting: TreeCgroup | null;
}

/** For these no descendants have to be recorded. */
const heldByKernel: readonly Containment[] = ['pidns', 'cgroup'];

export class PosixChild implements Child {
  readonly pid: number;
  readonly containment: Containment;
  readonly isStateHidden: boolean;
  readonly enforced: Child['enforced'];
  /** Nothing of it is left. */
  readonly swept: Promise<void>;
  readonly handOver?: () => Promise<HandedChild>;
  readonly #parts: PosixChildParts;
  readonly #streams: ChildStreams;
  #resolveSwept: () => void = () => {};
  /** Set when we have ended it for this. */
  #brokenLimit: BrokenLimit | null = null;
  #visits: Disposable | undefined;
  #wasHandedOver = false;

  constructor(parts: PosixChildParts) {
    this.#parts = parts;
    this.#streams = parts.streams;
    this.pid = parts.pid;
    this.containment = parts.containment;
    this.isStateHidden = parts.isStateHidden;
    const measured = hasLimits(parts.limits) ? 'poll' : 'none';
    this.enforced = parts.limiting === null ? measured : 'cgroup';
    this.swept = new Promise((resolve) => {
      this.#resolveSwept = resolve;
    });
    const id = parts.streams.heldId;
    if (id !== undefined) this.handOver = () => this.#handOver(id);
  }

  /** Resolves when the listener has been notified of the exit. */
  get told(): Promise<void> {
    return this.#streams.told;
  }

  /** From here on the listener is notified. */
  begin(listener: ChildListener, rounds: Rounds): void {
    const isWatched = this.enforced !== 'none' || !heldByKernel.includes(this.containment);
    this.#visits = isWatched ? rounds.add(() => this.#visit()) : undefined;
    this.#streams.begin(listener, (raw) => {
      this.#visits?.[Symbol.dispose]();
      return this.#exitFrom(raw);
    });
  }

  write(bytes: Uint8Array | string, done: (error: Error | null) => void): void {
    this.#streams.write(bytes, done);
  }

  closeStdin(): void {
    // The processes it leaves behind must be known before it ends.
    const close = () => this.#streams.closeStdin();
    this.#parts.tree.note().then(close).catch(ignored);
  }

  pause(): void {
    this.#streams.pause();
  }

  resume(): void {
    this.#streams.resume();
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    // If it cannot be sent, the next step of the stop follows.
    this.#parts.tree.signal(name).catch(ignored);
  }

  async sweep(): Promise<number> {
    const count = await this.#parts.tree.sweep();
    this.#resolveSwept();
    return count;
  }

  /** At once and for good. */
  async destroy(): Promise<void> {
    if (this.#wasHandedOver) return;
    await this.#parts.tree.signal('SIGKILL');
    await this.sweep();
  }

  async #handOver(id: number): Promise<HandedChild> {
    const { tree, limits, limiting } = this.#parts;
    await this.#streams.settled();
    const isEnding = this.#brokenLimit !== null || tree.wasKilled;
    const read = isEnding ? undefined : this.#streams.handOver();
    if (read === undefined) throw new Fault('unavailable', 'the process is ending');
    this.#wasHandedOver = true;
    this.#visits?.[Symbol.dispose]();
    const { memoryMb, processes } = limits;
    const state: PosixChildState = {
      id,
      pid: this.pid,
      containment: this.containment,
      isStateHidden: this.isStateHidden,
      limits: { memoryMb, processes },
      limiting,
      tree: await tree.handOver(),
    };
    this.#resolveSwept();
    return { state, ...read };
  }

  async #visit(): Promise<void> {
    const { tree } = this.#parts;
    await tree.note();
    // What cannot be measured now (too many open files) is measured in a second.
    const broken = await this.#findBrokenLimit().catch(() => null);
    if (broken === null || this.#brokenLimit !== null) return;
    this.#brokenLimit = broken;
    await tree.signal('SIGKILL');
  }

  async #findBrokenLimit(): Promise<BrokenLimit | null> {
    const { tree, table, limits, limiting } = this.#parts;
    if (limiting !== null) return limitBrokenInCgroup(limiting, limits);
    return hasLimits(limits) ? limitBrokenByCount(table, await tree.processes(), limits) : null;
  }

  #exitFrom({ code, signal }: RawExit): Exit {
    const { limiting, tree } = this.#parts;
    const translated = this.containment === 'pidns' ? signalFrom(code) : undefined;
    const exit = translated === undefined ? { code, signal } : { code: null, signal: translated };
    return exitWithLimit(exit, this.#brokenLimit, limiting, tree.wasKilled);
  }
}

/**
 * A server that exits by itself with such a code, as shells do, is read as killed too: the code was
 * chosen to say just that.
 */
function signalFrom(code: number | null): string | undefined {
  const number = code === null ? 0 : code - 128;
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
}
