// Tracks who uses a server, as a pure state machine. Every running call and every named lease holds
// it; a pinned server is held permanently. When the last holder releases it, the keep-alive time
// runs, and only when that has passed without a new holder is the server idle. Releasing and
// disconnecting are different: a lease never closes a connection by itself.

export interface LeasePolicy {
  readonly keepAliveMs: number;
}

export interface LeaseState {
  readonly pinned: boolean;
  readonly held: number;
  /** When the last holder released it; null while held, pinned or never used. */
  readonly idleSince: number | null;
}

export type LeaseEvent =
  | { readonly kind: 'taken' }
  | { readonly kind: 'released'; readonly at: number }
  | { readonly kind: 'pinned'; readonly pinned: boolean; readonly at: number }
  | { readonly kind: 'elapsed'; readonly at: number };

export type LeaseEffect =
  | { readonly kind: 'wake'; readonly afterMs: number }
  | { readonly kind: 'unwanted' };

export const noLeases: LeaseState = { pinned: false, held: 0, idleSince: null };

const nothing: readonly LeaseEffect[] = [];
const unwanted: readonly LeaseEffect[] = [{ kind: 'unwanted' }];

/** Whether the server should be restarted if it is lost now. */
export function isWanted(state: LeaseState): boolean {
  return state.pinned || state.held > 0;
}

export function leaseStep(
  state: LeaseState,
  event: LeaseEvent,
  policy: LeasePolicy,
): readonly [LeaseState, readonly LeaseEffect[]] {
  switch (event.kind) {
    case 'taken':
      return [{ pinned: state.pinned, held: state.held + 1, idleSince: null }, nothing];
    case 'released':
      return released(state, event.at, policy);
    case 'pinned':
      return event.pinned
        ? [{ ...state, pinned: true, idleSince: null }, nothing]
        : settle({ ...state, pinned: false }, event.at, policy);
    case 'elapsed':
      return elapsed(state, event.at, policy);
  }
}

function released(
  state: LeaseState,
  at: number,
  policy: LeasePolicy,
): readonly [LeaseState, readonly LeaseEffect[]] {
  // Lease objects release once; a release beyond zero is a defect, and must not go negative.
  const held = Math.max(0, state.held - 1);
  return settle({ ...state, held }, at, policy);
}

function settle(
  state: LeaseState,
  at: number,
  policy: LeasePolicy,
): readonly [LeaseState, readonly LeaseEffect[]] {
  if (isWanted(state)) return [state, nothing];
  const idle = { ...state, idleSince: at };
  return policy.keepAliveMs === 0
    ? [idle, unwanted]
    : [idle, [{ kind: 'wake', afterMs: policy.keepAliveMs }]];
}

function elapsed(
  state: LeaseState,
  at: number,
  policy: LeasePolicy,
): readonly [LeaseState, readonly LeaseEffect[]] {
  if (state.idleSince === null || isWanted(state)) return [state, nothing];
  const leftMs = state.idleSince + policy.keepAliveMs - at;
  return leftMs <= 0 ? [state, unwanted] : [state, [{ kind: 'wake', afterMs: leftMs }]];
}
