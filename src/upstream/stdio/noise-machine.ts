// Decides when a server that prints lines which are not MCP is broken. Log lines and banners on
// stdout are common, and a server that still answers is not broken, however much it prints. So
// before the handshake only the number of bytes is bounded here (the start timeout bounds the
// rest). Afterwards the server is probed when it has printed a lot and nothing valid for a while,
// and it is ended only if the probe fails too. While a call is running its own deadline decides: a
// server that is busy with it may be unable to answer a probe. Pure: `stdout-reader.ts` passes the
// events and performs the effects.

export interface NoisePolicy {
  /** More bytes than this that are not MCP, before the handshake, are too much. */
  readonly startBytes: number;
  /** Noise of fewer lines and fewer bytes than these since the last valid message is ignored. */
  readonly lines: number;
  readonly bytes: number;
  /** For so long nothing valid must have come before the server is probed. */
  readonly quietMs: number;
}

export const noisePolicy: NoisePolicy = {
  startBytes: 16 * 1024 * 1024,
  lines: 1_000,
  bytes: 1024 * 1024,
  quietMs: 30_000,
};

export type NoiseState =
  | { readonly kind: 'starting'; readonly bytes: number }
  /** No noise since the last valid message. */
  | { readonly kind: 'clean' }
  /** Noise since the last valid message; `since` is when no answer was pending any more. */
  | {
      readonly kind: 'noisy';
      readonly since: number;
      readonly lines: number;
      readonly bytes: number;
    }
  | { readonly kind: 'probing'; readonly lines: number };

export type NoiseEvent =
  | { readonly kind: 'greeted' }
  /** A valid message came. */
  | { readonly kind: 'heard' }
  | {
      readonly kind: 'noise';
      readonly at: number;
      readonly lines: number;
      readonly bytes: number;
      /** Whether a call is running. */
      readonly isAwaited: boolean;
    }
  | { readonly kind: 'probed'; readonly isAlive: boolean };

export type NoiseEffect = 'none' | 'probe' | 'end';

export const beforeGreeting: NoiseState = { kind: 'starting', bytes: 0 };
const clean: NoiseState = { kind: 'clean' };

export function noiseStep(
  state: NoiseState,
  event: NoiseEvent,
  policy: NoisePolicy,
): readonly [NoiseState, NoiseEffect] {
  if (event.kind === 'greeted') return [clean, 'none'];
  if (event.kind === 'heard') return [state.kind === 'starting' ? state : clean, 'none'];
  if (event.kind === 'noise') return noise(state, event, policy);
  // A message that came meanwhile has already answered the question of the probe.
  if (state.kind !== 'probing') return [state, 'none'];
  return event.isAlive ? [clean, 'none'] : [state, 'end'];
}

function noise(
  state: NoiseState,
  { at, lines, bytes, isAwaited }: Extract<NoiseEvent, { readonly kind: 'noise' }>,
  policy: NoisePolicy,
): readonly [NoiseState, NoiseEffect] {
  if (state.kind === 'probing') return [{ ...state, lines: state.lines + lines }, 'none'];
  if (state.kind === 'starting') {
    const next = { ...state, bytes: state.bytes + bytes };
    return [next, next.bytes > policy.startBytes ? 'end' : 'none'];
  }
  const before = state.kind === 'noisy' ? state : { since: at, lines: 0, bytes: 0 };
  const next = {
    kind: 'noisy',
    since: isAwaited ? at : before.since,
    lines: before.lines + lines,
    bytes: before.bytes + bytes,
  } as const;
  const isMuch = next.lines >= policy.lines || next.bytes >= policy.bytes;
  if (!isMuch || at - next.since < policy.quietMs) return [next, 'none'];
  return [{ kind: 'probing', lines: next.lines }, 'probe'];
}
