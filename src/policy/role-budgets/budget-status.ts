// What is spent of the budgets of roles, as `status` tells it. Who sees everything is told of every count that is
// known; everybody else of the one that its own calls are charged to. Counts of `per: "session"` end with their
// clients and are in no list. A remote caller is not told the name of its role.

/** What is spent of one limit. */
export interface SpentLimit {
  /** As in the budget of the config. */
  readonly limit: 'calls' | 'perMinute' | 'bytes';
  /** What the config allows. */
  readonly limitValue: number;
  /** How much of it is spent. */
  readonly spent: number;
  /**
   * When the oldest call of the last minute stops counting, in milliseconds since 1970; null: nothing counts, or
   * it counts until the budget in the config is changed.
   */
  readonly freesAt: number | null;
}

/** What is spent of the budget of a role. */
export interface BudgetStatus {
  /** The role; null: its name is not for whoever asks. */
  readonly role: string | null;
  /** Who shares one count. */
  readonly per: 'principal' | 'role' | 'session';
  /** Whose count it is, by id; null: of all who have the role. */
  readonly principal: string | null;
  /** The limits that are set. */
  readonly limits: readonly SpentLimit[];
}

/** Who asks. */
export interface BudgetAsker {
  /** The id of whoever the calls are charged to. */
  readonly owner: string;
  readonly role: string | null;
  /** Whether it is told of the counts of others. */
  readonly seesAll: boolean;
  /** Whether it is told the names of roles. */
  readonly isOperator: boolean;
}

/** As many as a config can have tokens. */
const mostTold = 1_000;

/** Those of which the most is spent come first where there are too many; then by role and principal. */
export function told(budgets: readonly BudgetStatus[]): readonly BudgetStatus[] {
  const cut =
    budgets.length <= mostTold
      ? budgets
      : budgets.toSorted((one, other) => partSpent(other) - partSpent(one)).slice(0, mostTold);
  return cut.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
}

/** Of the limit of which the most is spent: 1 is all of it. */
export function partSpent({ limits }: BudgetStatus): number {
  return limits.reduce((most, { spent, limitValue }) => {
    return Math.max(most, limitValue === 0 ? 1 : spent / limitValue);
  }, 0);
}

function orderOf({ role, principal }: BudgetStatus): string {
  return `${role ?? ''}\n${principal ?? ''}`;
}
