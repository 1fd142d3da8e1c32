// The budget of a role as the config has it, and what about it is stored: a budget with another mark is
// another budget, which begins at zero.

export interface BudgetRules {
  readonly calls: number | null;
  readonly perMinute: number | null;
  readonly bytes: number | null;
  /** Who shares one count. */
  readonly per: 'principal' | 'role' | 'session';
}

/** A budget in use. */
export interface MarkedRules {
  readonly rules: BudgetRules;
  readonly mark: string;
}

export function markOf({ calls, perMinute, bytes, per }: BudgetRules): string {
  return JSON.stringify([calls, perMinute, bytes, per]);
}

/** What has been spent of the limits that do not recover by themselves. */
export interface Spent {
  readonly calls: number;
  readonly bytes: number;
}

export const nothingSpent: Spent = { calls: 0, bytes: 0 };

/** What was spent is forgotten a year after the last change: its owner may be gone for good. */
export const spentKeptMs = 366 * 24 * 60 * 60 * 1_000;
