// What is spent of the budgets of roles, one line for each count: whose it is, and of each limit how much. Those of
// which the most is spent are told first, and only so many that the page stays short.

import { printableLine } from '../../kernel/printable.ts';
import type { BudgetStatus, SpentLimit } from '../../policy/role-budgets/budget-status.ts';
import { partSpent } from '../../policy/role-budgets/budget-status.ts';
import { durationText, sizeText } from './quantity.ts';
import type { Style } from './style.ts';
import { wrappedTo } from './width.ts';

export interface BudgetView {
  /** An older instance does not tell them. */
  readonly status: { readonly budgets?: readonly BudgetStatus[] | undefined };
  /** Wall time. */
  readonly now: number;
}

const mostLines = 10;

/** Nothing if there are no budgets. */
export function budgetLines({ status, now }: BudgetView, style: Style, columns: number): string[] {
  const { budgets = [] } = status;
  if (budgets.length === 0) return [];
  const shown = budgets
    .toSorted((one, other) => partSpent(other) - partSpent(one))
    .slice(0, mostLines);
  const left = budgets.length - shown.length;
  const more = left === 0 ? [] : [`and ${left} more; see: holdfast status --json`];
  const lines = [...shown.map((budget) => budgetText(budget, now)), ...more];
  return [
    '',
    style('bold', 'Spent of budgets'),
    ...lines.flatMap((text) => wrappedTo(columns, printableLine(text))),
  ];
}

function budgetText({ role, principal, limits }: BudgetStatus, now: number): string {
  const whose = principal ?? 'all';
  const named = role === null ? whose : `${whose} (${role})`;
  return `${named}: ${limits.map((limit) => limitText(limit, now)).join(' · ')}`;
}

function limitText({ limit, limitValue, spent, freesAt }: SpentLimit, now: number): string {
  if (limit === 'bytes') return `${sizeText(spent)} of ${sizeText(limitValue)}`;
  if (limit === 'calls') return `${spent} of ${limitValue} calls`;
  const isFull = spent >= limitValue && freesAt !== null;
  const when = isFull ? `, the next in ${durationText(Math.max(1, freesAt - now))}` : '';
  return `${spent} of ${limitValue} calls in this minute${when}`;
}
