// What the page of `status` says of budgets: whose, how much, and when a minute has room again.

import { describe, expect, it } from 'vitest';
import type { BudgetStatus } from '../../policy/role-budgets/budget-status.ts';
import { budgetLines } from './budget-lines.ts';

const plain = (_look: string, text: string) => text;
const now = 1_000_000;

function budget(principal: string | null, spent: number): BudgetStatus {
  const limits = [{ limit: 'calls', limitValue: 500, spent, freesAt: null } as const];
  return { role: 'reader', per: principal === null ? 'role' : 'principal', principal, limits };
}

function linesOf(...budgets: BudgetStatus[]): string[] {
  return budgetLines({ status: { budgets }, now }, plain, Number.POSITIVE_INFINITY);
}

describe('what is spent of budgets', () => {
  it('is one line for each count, with when a minute that is full has room again #command-line', () => {
    const [limit] = budget('token:a', 12).limits;
    const limits = [
      ...(limit ? [limit] : []),
      { limit: 'perMinute', limitValue: 2, spent: 2, freesAt: now + 41_000 } as const,
      { limit: 'bytes', limitValue: 2_000_000, spent: 1_500, freesAt: null } as const,
    ];
    const own = { role: null, per: 'principal', principal: 'token:b', limits } as const;
    expect(linesOf(budget(null, 1), own)).toEqual([
      '',
      'Spent of budgets',
      'token:b: 12 of 500 calls · 2 of 2 calls in this minute, the next in 41 s · 1.5 kB of 2.0 MB',
      'all (reader): 1 of 500 calls',
    ]);
  });

  it('is short: what is spent most comes first, and the rest is counted #command-line', () => {
    const many = Array.from({ length: 25 }, (_, at) => budget(`token:${at}`, at));
    const lines = linesOf(...many);
    expect(lines).toHaveLength(13);
    expect(lines[2]).toBe('token:24 (reader): 24 of 500 calls');
    expect(lines.at(-1)).toBe('and 15 more; see: holdfast status --json');
  });

  it('is nothing where there are none, or an older instance does not tell #command-line', () => {
    expect(linesOf()).toEqual([]);
    expect(budgetLines({ status: {}, now }, plain, 80)).toEqual([]);
  });
});
