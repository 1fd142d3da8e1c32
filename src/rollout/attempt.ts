// One successor of a rollout at the incumbent: its process, the link to it, the snapshots and the fence. It carries out
// what the machine has decided, and reports what happens as events of this run; which step is due, and when one is
// late, is the machine's to say. A successor that follows one that was lost behind the fence is given what was handed
// over then.

import type { Duplex } from 'node:stream';
import { type Clock, within } from '../kernel/clock.ts';
import { type Caught, ignored } from '../kernel/contain.ts';
import { HandOverLink } from './hand-over-link.ts';
import { type Link, LinkError, linkOver } from './link.ts';
import type { AbandonedOutcome, RolloutCause, RolloutReason } from './rollout-state.ts';
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
  type WrittenSnapshot,
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
  /** No successor has taken it. */
  nobody(): void;
}

/** What is handed over in one run: to its first successor, or to one that follows it. */
interface Handing {
  readonly link: HandOverLink;
  readonly fenced: Promise<Fenced>;
  readonly yours: Promise<WrittenSnapshot>;
  readonly fencedAt: number;
}

/** How this process hands over. Nothing of it is called twice in one attempt. */
export interface HandOver {
  /** What a successor needs to prepare, without anything secret. Changes nothing. */
  prepare(): Promise<readonly SnapshotPart[]>;
  /**
   * From now on nothing new is accepted, and what is under way goes on here. If it rejects, which it may do when
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
  /** The successor is being told what it takes over: so many bytes. */
  readonly handed: (bytes: number) => void;
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
  servedAt: number | undefined;
  /** Of the successor's program. */
  program: string | undefined;
  summary: HandedSummary | undefined;
  #link: Link | undefined;
  #listening: Disposable | undefined;
  #handing: Handing | undefined;
  #hasYours = false;

  /** `lost`: the successor before, which is gone. */
  constructor(run: number, parts: AttemptParts, lost?: Attempt) {
    this.#run = run;
    this.#parts = parts;
    this.#handing = lost === undefined ? undefined : lost.#handing;
    this.startedAt = lost?.startedAt ?? parts.clock.now();
  }

  /** When the fence was drawn. */
  get fencedAt(): number | undefined {
    return this.#handing?.fencedAt;
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
    this.#failed(
      'exited',
      `the new version has ended: ${how}; what it said is in the standard error of the instance`,
    );
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
    try {
      this.#handing ??= this.#handed();
      const handing = this.#handing;
      handing.link.attach(link);
      this.summary = await handing.fenced;
      const yours = await handing.yours;
      if (this.#over.signal.aborted) return;
      this.#hasYours = true;
      sendSnapshot(link, 'yours', yours);
      this.#parts.handed(bytesOf(yours));
    } catch (error) {
      this.#failed('hand_over', `this version could not hand over: ${textOf(error)}`);
    }
  }

  #handed(): Handing {
    const { clock, handOver, origin } = this.#parts;
    const link = new HandOverLink();
    const fenced = handOver.fence(link, this.#givenUp.signal);
    const yours = fenced.then(({ parts }) => writtenSnapshot(origin, parts));
    yours.catch(ignored);
    return { link, fenced, yours, fencedAt: clock.now() };
  }

  /** Resolves when there is no successor any more. Never rejects. */
  async abandon(): Promise<AbandonedOutcome> {
    this.#over.abort();
    this.#givenUp.abort();
    const outcome = await this.#parts.holder.abandon(this.#run).catch((error: unknown) => {
      this.#parts.caught(error);
      return 'ended' as const;
    });
    if (outcome === 'serving') return outcome;
    this.#link?.[Symbol.dispose]();
    if (this.#handing === undefined) return 'ended';
    // If it has rejected, it has taken back everything, and `fence` has reported it.
    return await this.#handing.fenced.then(
      () => 'handed' as const,
      () => 'ended' as const,
    );
  }

  /** Everything was handed over, and nobody has taken it. Never rejects. */
  async nobody(): Promise<void> {
    this.#handing?.link[Symbol.dispose]();
    try {
      (await this.#handing?.fenced)?.nobody();
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
    const handing = this.#handing;
    if (link === undefined || handing === undefined) return;
    sayPassedOn(link, wish);
    handing.link.taken();
    handOver.former(handing.link);
  }

  #failed(reason: RolloutReason, detail: string): void {
    if (this.#over.signal.aborted) return;
    this.#parts.failed({ reason, detail: shortened(detail) });
  }
}

function bytesOf({ pieces }: WrittenSnapshot): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
