// What the end of an instance that `connect` has started, and could not join, says about the next start. One that
// failed by its own fault, such as a config that cannot be used, would fail again: the search ends. One that lost the
// race for the lock, or was ended from outside, says nothing about the next one: another is started after a pause, as
// long as the time for the whole search lasts. A pure decision; join-or-start.ts looks, starts and waits.

import { constants } from 'node:os';
import { backoffMs } from '../../kernel/backoff.ts';
import { faultTable } from '../../kernel/fault.ts';
import type { DetachedEnd } from '../../supervise/process/start/start-detached.ts';

export interface StartPolicy {
  /** After that no other one is started. */
  readonly totalMs: number;
  /** How long one may take until it listens. */
  readonly startMs: number;
  /** The pause before the next start, longer each time. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** One that crashes may have met a passing shortage; one that crashes each time is broken. */
  readonly maxCrashes: number;
}

export const usualStartPolicy: StartPolicy = {
  totalMs: 30_000,
  startMs: 30_000,
  firstPauseMs: 50,
  longestPauseMs: 2_000,
  maxCrashes: 3,
};

/** The starts of one search for an instance. */
export interface StartState {
  readonly begunAt: number;
  /** Nothing is started before. */
  readonly nextAt: number;
  /** How many have ended without being joined. */
  readonly ended: number;
  readonly crashes: number;
}

export interface StartEnded {
  readonly end: DetachedEnd;
  readonly at: number;
  /** Uniform in [0, 1): the jitter. */
  readonly random: number;
}

export function searchBegun(at: number, graceMs: number): StartState {
  return { begunAt: at, nextAt: at + graceMs, ended: 0, crashes: 0 };
}

/** `failed`: another start would fail in the same way. */
export function stepStart(
  state: StartState,
  { end, at, random }: StartEnded,
  policy: StartPolicy,
): readonly [StartState, 'again' | 'failed'] {
  const { firstPauseMs: firstMs, longestPauseMs: longestMs, maxCrashes } = policy;
  const how = kindOf(end);
  const crashes = state.crashes + (how === 'crashed' ? 1 : 0);
  const pauseMs = backoffMs({ firstMs, longestMs }, state.ended, random);
  const next = { ...state, nextAt: at + pauseMs, ended: state.ended + 1, crashes };
  return [next, how === 'failed' || crashes > maxCrashes ? 'failed' : 'again'];
}

export function isSearchOver({ begunAt }: StartState, at: number, policy: StartPolicy): boolean {
  return at > begunAt + policy.totalMs;
}

/** Signals that others send; the rest, such as SIGSEGV, a process causes itself. */
const sentByOthers = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGKILL'] as const;
const signalsOfOthers: ReadonlySet<NodeJS.Signals> = new Set(sentByOthers);

/**
 * Zero: it was told to end and did, before anybody had joined it. That of `unavailable`: another process has the lock.
 * Those above 128: a signal came while it started.
 */
const codesOfOthers: ReadonlySet<number> = new Set([
  0,
  faultTable.unavailable.exit,
  ...sentByOthers.map((name) => 128 + constants.signals[name]),
]);

function kindOf({ code, signal }: DetachedEnd): 'outside' | 'crashed' | 'failed' {
  if (signal !== null) return signalsOfOthers.has(signal) ? 'outside' : 'crashed';
  return code !== null && codesOfOthers.has(code) ? 'outside' : 'failed';
}
