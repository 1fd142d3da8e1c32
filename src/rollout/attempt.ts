// One attempt of a rollout at the incumbent: the successor's process, the link to it, the snapshots and the fence. It
// carries out what the machine has decided, and reports what happens as events of this attempt; which step is due, and
// when one is late, is the machine's to say.

import type { Duplex } from 'node:stream';
import { type Clock, within } from '../kernel/clock.ts';
import { type Caught, ignored } from '../kernel/contain.ts';
import { type Link, LinkError, linkOver } from './link.ts';
import type { RolloutCause, RolloutReason } from './rollout-state.ts';
import {
  type PassedOn,
  rolloutKind,
  type SuccessorWord,
  sayPassedOn,
  shortened,
  successorWord,
} from './rollout-words.ts';
import {
  type SnapshotOrigin,
  type SnapshotPart,
  sendSnapshot,
  writtenSnapshot,
} from './snapshot.ts';

export type SuccessorStart =
  | {
      readonly kind: 'started';
      /** The incumbent's end of the link. */
      readonly stream: Duplex;
      /** Resolves when the process has ended, with how: "exit code 1", "killed by SIGSEGV". */
      readonly ended: Promise<string>;
    }
  | { readonly kind: 'refused'; readonly detail: string };

/** The holder, as far as a rollout needs it. */
export interface HolderForRollout {
  /** Its process, which stays the same over all rollouts. */
  readonly pid: number;
  /** At most one successor exists; a second one is refused. */
  startSuccessor(run: number): Promise<SuccessorStart>;
  /**
   * Ends the successor of this run, however far it is, and resolves when its process has ended. `serving`: it has
   * become the serving process before that. Nothing happens where there is none.
   */
  abandon(run: number): Promise<'ended' | 'serving'>;
}

/** What went along, for people. */
export interface HandedSummary {
  readonly servers: number;
  readonly sessions: number;
  /** What was not carried over, each in a few words. */
  readonly left: readonly string[];
}

export interface Fenced extends HandedSummary {
  /** All that the successor must know of what was handed over. */
  readonly parts: readonly SnapshotPart[];
  /** Takes back what was handed over: the successor is gone, and this process serves on. */
  resume(): Promise<void>;
}

/** How this process hands over. Nothing of it is called twice in one attempt. */
export interface HandOver {
  /** What a successor needs to prepare, without anything secret. Changes nothing. */
  prepare(): Promise<readonly SnapshotPart[]>;
  /**
   * From now on nothing new is accepted, and what is under way goes on here. If it rejects, which it also does when
   * the signal says that the rollout was given up, everything has been taken back.
   */
  fence(link: Link, givenUp: AbortSignal): Promise<Fenced>;
  /** The successor serves: this process ends its work and then itself. The link is its own from now on. */
  former(link: Link): void;
}

export interface AttemptParts {
  readonly clock: Clock;
  readonly holder: HolderForRollout;
  readonly handOver: HandOver;
  readonly origin: SnapshotOrigin;
  readonly caught: Caught;
  readonly ready: () => void;
  readonly served: () => void;
  readonly failed: (cause: RolloutCause) => void;
}

/** An end of the process is told by the holder; a link that ends without one has a reason of its own. */
const endedWithinMs = 1_000;

export class Attempt {
  readonly #parts: AttemptParts;
  readonly #run: number;
  /** Nothing of it matters any more: it has succeeded, or was given up. */
  readonly #over = new AbortController();
  /** It was given up: what is being handed over stays here. */
  readonly #givenUp = new AbortController();
  readonly startedAt: number;
  fencedAt: number | undefined;
  servedAt: number | undefined;
  /** Of the successor's program. */
  program: string | undefined;
  summary: HandedSummary | undefined;
  #link: Link | undefined;
  #listening: Disposable | undefined;
  #fencing: Promise<Fenced> | undefined;
  #hasYours = false;

  constructor(run: number, parts: AttemptParts) {
    this.#run = run;
    this.#parts = parts;
    this.startedAt = parts.clock.now();
  }

  /** Never rejects. */
  async start(): Promise<void> {
    const { holder, handOver, origin } = this.#parts;
    try {
      const snapshot = writtenSnapshot(origin, await handOver.prepare());
      if (this.#over.signal.aborted) return;
      const start = await holder.startSuccessor(this.#run);
      if (start.kind === 'refused') return this.#failed('start', start.detail);
      const link = linkOver(start.stream);
      if (this.#over.signal.aborted) return link[Symbol.dispose]();
      this.#follow(link, start.ended);
      sendSnapshot(link, 'begin', snapshot);
    } catch (error) {
      this.#failed('start', textOf(error));
    }
  }

  #follow(link: Link, ended: Promise<string>): void {
    this.#link = link;
    this.#listening = link.on(rolloutKind, (head) => this.#heard(successorWord(head)));
    link.closed.then(() => this.#lost(link)).catch(ignored);
    this.#followProcess(link, ended).catch((error) => this.#failed('exited', textOf(error)));
  }

  async #followProcess(link: Link, ended: Promise<string>): Promise<void> {
    const how = await ended;
    // What it has said before is heard first.
    await within(this.#parts.clock, endedWithinMs, link.closed);
    this.#failed('exited', `the new version has ended: ${how}`);
  }

  #lost({ fault }: Link): void {
    if (this.#over.signal.aborted || this.servedAt !== undefined) return;
    if (fault !== undefined && fault.reason !== 'broken' && fault.reason !== 'cut') {
      return this.#failed('link', fault.message);
    }
    const text = fault?.message ?? 'the new version has closed the link';
    // Usually its process has ended, and how is told at the next moment.
    const timer = this.#parts.clock.after(endedWithinMs, () => this.#failed('link', text), true);
    this.#over.signal.addEventListener('abort', () => timer[Symbol.dispose](), { once: true });
  }

  #heard(word: SuccessorWord): void {
    if (this.#over.signal.aborted) return;
    switch (word.say) {
      case 'ready':
        this.program = word.program;
        return this.#parts.ready();
      case 'refused':
        return this.#failed('refused', `the new version refuses: ${word.detail}`);
      case 'serving':
        if (!this.#hasYours) throw new LinkError('bad_message', 'it serves before the fence');
        this.servedAt = this.#parts.clock.now();
        this.#parts.served();
    }
  }

  /** Never rejects. */
  async fence(): Promise<void> {
    const link = this.#link;
    if (link === undefined) return;
    this.fencedAt = this.#parts.clock.now();
    try {
      this.#fencing = this.#parts.handOver.fence(link, this.#givenUp.signal);
      const fenced = await this.#fencing;
      this.summary = fenced;
      if (this.#over.signal.aborted) return;
      const yours = writtenSnapshot(this.#parts.origin, fenced.parts);
      this.#hasYours = true;
      sendSnapshot(link, 'yours', yours);
    } catch (error) {
      this.#failed('hand_over', `this version could not hand over: ${textOf(error)}`);
    }
  }

  /** Resolves when there is no successor any more and this process serves as before. Never rejects. */
  async abandon(isFenced: boolean): Promise<'ended' | 'serving'> {
    this.#over.abort();
    this.#givenUp.abort();
    const outcome = await this.#parts.holder.abandon(this.#run).catch((error: unknown) => {
      this.#parts.caught(error);
      return 'ended' as const;
    });
    if (outcome === 'serving') return outcome;
    this.#link?.[Symbol.dispose]();
    if (isFenced) await this.#resume();
    return outcome;
  }

  async #resume(): Promise<void> {
    let fenced: Fenced | undefined;
    try {
      fenced = await this.#fencing;
    } catch {
      // It has taken back everything by itself, and `fence` has reported it.
    }
    try {
      await fenced?.resume();
    } catch (error) {
      this.#parts.caught(error);
    }
  }

  passOn(wish: PassedOn): void {
    const { handOver, clock } = this.#parts;
    this.servedAt ??= clock.now();
    this.#over.abort();
    this.#listening?.[Symbol.dispose]();
    const link = this.#link;
    if (link === undefined) return;
    sayPassedOn(link, wish);
    handOver.former(link);
  }

  #failed(reason: RolloutReason, detail: string): void {
    if (this.#over.signal.aborted) return;
    this.#parts.failed({ reason, detail: shortened(detail) });
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
