// The words of a rollout: its rules, its state, what happens to it, what it does and how it ends. rollout-machine.ts
// has the transitions.

export interface RolloutPolicy {
  /** Changed files are a reason by themselves. */
  readonly isAuto: boolean;
  /** From the start of a successor until it is ready. */
  readonly gateMs: number;
  /** From the fence until it serves. */
  readonly handOverMs: number;
  /** Until a successor that failed has ended. */
  readonly abandonMs: number;
  /** How long somebody who asks waits for the beginning; it is done later all the same. */
  readonly waitMs: number;
  /** How many processes may still be ending their work; with more, nothing is started. */
  readonly maxFormers: number;
  /** How many successors may be lost behind the fence: each is followed by another one that is given the same. */
  readonly maxLost: number;
}

export const rolloutLimits: Omit<RolloutPolicy, 'isAuto'> = {
  gateMs: 15_000,
  handOverMs: 15_000,
  abandonMs: 5_000,
  waitMs: 30_000,
  maxFormers: 4,
  maxLost: 3,
};

export type RolloutReason =
  /** It could not be started. */
  | 'start'
  /** It ended before it was ready, or before it served. */
  | 'exited'
  /** It was not ready, or did not serve, in time. */
  | 'late'
  /** It says that it cannot take over. */
  | 'refused'
  /** What it said cannot be used, or the link to it was lost. */
  | 'link'
  /** This process could not hand over. */
  | 'hand_over'
  /** This instance is ending. */
  | 'shutdown';

export interface RolloutCause {
  readonly reason: RolloutReason;
  readonly detail: string;
}

/** The installed files, compared with those that this process was started from. */
export type FilesState =
  | { readonly kind: 'same' }
  /** They are being written, or some are missing. */
  | { readonly kind: 'settling' }
  | { readonly kind: 'changed'; readonly print: string }
  | { readonly kind: 'unreadable'; readonly cause: string };

export interface Run {
  readonly number: number;
  /** Of the files when it began. */
  readonly print: string;
  /** Who is told its outcome. */
  readonly tickets: readonly number[];
  /** When it began. */
  readonly since: number;
  /** Its step has to end by then. */
  readonly until: number;
  /** Successors that had been handed everything and are gone; from the first on, the fence is drawn. */
  readonly lost: number;
}

export type RolloutPhase =
  | { readonly kind: 'idle' }
  | { readonly kind: 'starting'; readonly run: Run }
  | { readonly kind: 'fencing'; readonly run: Run }
  | {
      readonly kind: 'abandoning';
      readonly run: Run;
      readonly cause: RolloutCause;
      readonly isFenced: boolean;
    }
  /** The successor serves. */
  | { readonly kind: 'former' };

/** Wanted, and not begun. */
export interface WaitingRollout {
  /** Somebody has asked, and not only the files have changed. */
  readonly isAsked: boolean;
  readonly tickets: readonly number[];
  readonly since: number;
}

export interface FailedRollout {
  readonly cause: RolloutCause;
  readonly at: number;
  /** Of the files that it was tried with. */
  readonly print: string;
}

export interface RolloutMachineState {
  readonly phase: RolloutPhase;
  readonly waiting: WaitingRollout | null;
  readonly files: FilesState;
  readonly failed: FailedRollout | null;
  /** The process has begun to serve. */
  readonly isServing: boolean;
  readonly isEnding: boolean;
  readonly formers: number;
  readonly runs: number;
  readonly failures: number;
}

export type RolloutEvent =
  /** `ticket` is null if nobody waits for the outcome. */
  | { readonly kind: 'asked'; readonly ticket: number | null; readonly at: number }
  | { readonly kind: 'files'; readonly files: FilesState; readonly at: number }
  | { readonly kind: 'serving'; readonly at: number }
  | { readonly kind: 'formers'; readonly count: number; readonly at: number }
  | { readonly kind: 'shutdown'; readonly at: number }
  | { readonly kind: 'policy'; readonly at: number }
  | { readonly kind: 'ready'; readonly run: number; readonly at: number }
  | { readonly kind: 'served'; readonly run: number; readonly at: number }
  | {
      readonly kind: 'failed';
      readonly run: number;
      readonly cause: RolloutCause;
      readonly at: number;
    }
  | {
      readonly kind: 'abandoned';
      readonly run: number;
      readonly outcome: AbandonedOutcome;
      readonly at: number;
    }
  | { readonly kind: 'tick'; readonly at: number };

/** How it is with a successor that was given up. */
export type AbandonedOutcome =
  /** It has ended, and this process has everything. */
  | 'ended'
  /** It has ended, and what it was to take over is not with this process any more. */
  | 'handed'
  /** It had taken over before it could be ended. */
  | 'serving';

export type RolloutOutcome =
  | { readonly kind: 'rolled' }
  | { readonly kind: 'failed'; readonly cause: RolloutCause; readonly at: number }
  /** It has not begun yet, for this reason; it is done later. */
  | { readonly kind: 'pending'; readonly why: PendingReason }
  /** This instance is ending, or another process serves already. */
  | { readonly kind: 'refused'; readonly why: 'shutdown' | 'former' };

export type PendingReason = 'starting' | 'formers' | 'settling' | 'running';

export type RolloutEffect =
  /** `lost`: what has ended the one before it, which had been handed everything; null: it is the first of this run. */
  | { readonly kind: 'start'; readonly run: number; readonly lost: RolloutCause | null }
  /** Draws it, or gives what was handed over then to this successor. */
  | { readonly kind: 'fence'; readonly run: number }
  | { readonly kind: 'abandon'; readonly run: number }
  /** Everything was handed over, and nobody has taken it. */
  | { readonly kind: 'giveUp'; readonly run: number }
  /** To the successor that serves: what this process was asked for meanwhile. */
  | {
      readonly kind: 'passOn';
      readonly run: number;
      readonly again: boolean;
      readonly shutdown: boolean;
    }
  | {
      readonly kind: 'tell';
      readonly tickets: readonly number[];
      readonly outcome: RolloutOutcome;
    };
