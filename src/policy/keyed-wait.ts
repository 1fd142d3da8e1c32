// Waits for a call with an idempotency key that another replica has, until its key says how it has ended. The replica is
// asked whether it works on it: one that does not, or is gone, is not waited for. A store or a replica that cannot be
// asked for a while ends the wait, and so do the time and the cancellation of the caller. From the moment at which the
// other's claim was seen its call may have run, however the wait ends.

import type { Signal } from '../kernel/cancel-signal.ts';
import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import type { RecordEntry, Records } from '../store/contract/records.ts';
import type { ClaimState } from './key-claims.ts';
import { isStoredKey, type StoredKey } from './stored-key.ts';

/** The replicas that share the keys. */
export interface KeyHolders {
  /** This one. */
  readonly id: string;
  /** Rejects if that cannot be said. */
  isAlive(replica: string): Promise<boolean>;
  /** What a replica knows of a claim of its own. Rejects if that cannot be said. */
  claimAt(replica: string, claim: string): Promise<ClaimState | 'gone'>;
  /** How others are told of the claims of this one. */
  answerClaims(stateOf: (claim: string) => ClaimState): void;
  /** The store applies what one of them changes in the order in which that was asked for. */
  readonly keepsOrder?: boolean;
}

/** Who waits. */
export interface KeyedWait {
  readonly signal?: Signal | undefined;
  readonly withinMs?: number | undefined;
  /** Whether another process has it, and may have run it. */
  readonly seen?: (isElsewhere: boolean) => void;
}

export interface KeyedWaitParts {
  readonly keys: Records;
  readonly clock: Clock;
  readonly holders: KeyHolders;
  /** What is known here of a claim of this replica. */
  readonly ownState: (claim: string) => ClaimState;
}

export type Settled =
  /** Nobody has the key any more. */
  | { readonly kind: 'free' }
  /** It was claimed, and its call has not run: the key may be taken in this version. */
  | { readonly kind: 'idle'; readonly entry: RecordEntry }
  /** This is all that there is to know. */
  | { readonly kind: 'ended'; readonly entry: RecordEntry };

/** How often another replica's call is looked at, and that replica itself. */
const lookMs = 100;
const looksBetweenSigns = 20;
/** Where the caller does not say how long its call may take. */
const longestMs = 900_000;
/** For so long the store or the other replica may be away. */
const troubleMs = 5_000;

export async function settledElsewhere(
  parts: KeyedWaitParts,
  slot: string,
  found: RecordEntry | undefined,
  fingerprint: string,
  { signal, withinMs = longestMs, seen }: KeyedWait = {},
): Promise<Settled> {
  const { keys, clock, holders } = parts;
  let entry = found;
  const giveUpAt = clock.now() + withinMs;
  let well = clock.now();
  for (let look = 0; ; look += 1) {
    if (entry === undefined) {
      seen?.(false);
      return { kind: 'free' };
    }
    if (isWithdrawn(entry)) {
      seen?.(false);
      return { kind: 'idle', entry };
    }
    const begun = begunIn(entry, fingerprint);
    if (begun === undefined) return { kind: 'ended', entry };
    if (begun.at === holders.id) {
      const isIdle = begun.claim !== undefined && parts.ownState(begun.claim) === 'idle';
      return { kind: isIdle ? 'idle' : 'ended', entry };
    }
    seen?.(true);
    if (signal?.aborted) throw leftWaiting(signal.reason);
    if (clock.now() >= giveUpAt || clock.now() - well > troubleMs) return { kind: 'ended', entry };
    try {
      const state = look % looksBetweenSigns === 0 ? await stateAt(holders, begun) : 'held';
      if (state === 'idle') {
        seen?.(false);
        return { kind: 'idle', entry };
      }
      if (state === 'held') await pause(clock, signal);
      const next: RecordEntry | undefined = await keys.get(slot);
      well = clock.now();
      // It may have ended between the two questions; otherwise nobody will ever say how.
      if (state !== 'held' && next?.version === entry.version) return { kind: 'ended', entry };
      entry = next;
    } catch {
      // Whoever cannot be reached says so elsewhere.
      await pause(clock, signal);
    }
  }
}

function isWithdrawn({ value }: RecordEntry): boolean {
  return isStoredKey(value) && value.state === 'withdrawn';
}

/** The key of a call that has not ended, of this request. */
function begunIn(
  { value }: RecordEntry,
  fingerprint: string,
): (StoredKey & { readonly at: string }) | undefined {
  if (!isStoredKey(value) || value.state !== 'begun') return undefined;
  const { at } = value;
  return value.fingerprint === fingerprint && at !== undefined ? { ...value, at } : undefined;
}

/** A replica of an earlier version gives its claims no names. */
async function stateAt(
  holders: KeyHolders,
  { at, claim }: StoredKey & { readonly at: string },
): Promise<ClaimState | 'gone'> {
  if (claim !== undefined) return await holders.claimAt(at, claim);
  return (await holders.isAlive(at)) ? 'held' : 'gone';
}

/** Until it is time to look again, or its caller has left. */
function pause(clock: Clock, signal: Signal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      signal?.removeEventListener('abort', over);
      timer[Symbol.dispose]();
      resolve();
    };
    const timer = clock.after(lookMs, over);
    if (signal?.aborted) over();
    else signal?.addEventListener('abort', over, { once: true });
  });
}

function leftWaiting(reason: unknown): Fault {
  return new Fault(
    'cancelled',
    'the caller stopped waiting for a call that another replica has',
    { dispatched: 'maybe' },
    reason,
  );
}
