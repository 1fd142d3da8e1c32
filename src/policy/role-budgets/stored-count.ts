// Whose count it is, and a count as it is stored.

import type { Recorded } from './account.ts';
import type { Spent } from './budget-rules.ts';

/** Whose count: all of a role, or one principal of it. */
export interface Holder {
  readonly role: string;
  /** Null: all of the role together. */
  readonly owner: string | null;
}

/** As it is stored. */
export interface StoredCount extends Recorded {
  readonly mark: string;
}

export function isStoredCount(value: unknown): value is StoredCount {
  const { mark, calls, bytes, minute } = (value ?? {}) as Partial<StoredCount>;
  return typeof mark === 'string' && isCount(calls) && isCount(bytes) && isMinute(minute);
}

function isMinute(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) && value.every((one) => Array.isArray(one) && one.every(isCount));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

export function keyOf({ role, owner }: Holder): string {
  return JSON.stringify([role, owner]);
}

export function holderIn(key: string): Holder {
  const [role, owner] = JSON.parse(key) as [string, string | null];
  return { role, owner };
}

const secondMs = 1_000;

/** With what one call has added, or given back. */
export function withLate(before: Recorded, { calls, bytes }: Spent, wallNow: number): Recorded {
  const second = Math.ceil(wallNow / secondMs) * secondMs;
  return {
    ...before,
    calls: Math.max(0, before.calls + calls),
    bytes: Math.max(0, before.bytes + bytes),
    ...(calls > 0 && { minute: [...(before.minute ?? []), [second, calls] as const] }),
  };
}
