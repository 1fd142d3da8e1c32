// The noise of a server as it is handed over to the next serving process, whose clock is another
// one: times become ages. A probe under way does not move, its answer belongs to the process that
// has sent it; a server that goes on like this is probed again.

import { isRecord } from '../../kernel/json-values.ts';
import type { NoiseState } from './noise-machine.ts';

/** Null: nothing since the last valid message. */
export type WrittenNoise = {
  /** For so long no answer was pending. */
  readonly quietMs: number;
  readonly lines: number;
  readonly bytes: number;
} | null;

export function writtenNoise(state: NoiseState, now: number): WrittenNoise {
  if (state.kind === 'noisy') {
    const { lines, bytes, since } = state;
    return { quietMs: Math.max(0, now - since), lines, bytes };
  }
  return state.kind === 'probing' ? { quietMs: 0, lines: state.lines, bytes: 0 } : null;
}

export function restoredNoise(written: WrittenNoise, now: number): NoiseState {
  if (written === null) return { kind: 'clean' };
  const { quietMs, lines, bytes } = written;
  return { kind: 'noisy', since: now - quietMs, lines, bytes };
}

/** Undefined if it cannot be read. */
export function noiseStateFrom(value: unknown): WrittenNoise | undefined {
  if (value === null) return null;
  if (!isRecord(value)) return undefined;
  const { quietMs, lines, bytes } = value;
  return isAmount(quietMs) && isAmount(lines) && isAmount(bytes)
    ? { quietMs, lines, bytes }
    : undefined;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
