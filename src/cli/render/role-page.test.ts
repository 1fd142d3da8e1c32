// The page of a role: every thing with a yes or the reason for the no, and what is spent of its budget.

import { describe, expect, it } from 'vitest';
import { type RolePage, roleLines } from './role-page.ts';
import { widthOf } from './width.ts';

const plain = (_look: string, text: string) => text;
const page = {
  role: 'reader',
  isEverything: false,
  isOperator: true,
  budget: { calls: 500, perMinute: 60, bytes: null, per: 'principal' },
  spent: null,
  now: 0,
  things: [
    { server: 'docs', list: 'tools', name: 'search', reason: null },
    {
      server: 'docs',
      list: 'prompts',
      name: 'review',
      reason: 'no pattern in "allow" of the role \'reader\' matches it',
    },
    { server: 'files', list: 'resourceTemplates', name: 'file:///{path}', reason: null },
  ],
  unknown: [{ server: 'git', lists: ['tools', 'prompts'] }],
} as const;

describe('the page of a role', () => {
  it('shows each thing under its server, with the reason for each no', () => {
    expect(roleLines(page, plain, Number.POSITIVE_INFINITY)).toEqual([
      'reader: 2 of 3 allowed · operator · budget of each principal: 500 calls in total, 60 calls per minute',
      '',
      'docs',
      '  ✓ tool search',
      '  ✗ prompt review',
      '    no pattern in "allow" of the role \'reader\' matches it',
      '',
      'files',
      '  ✓ template file:///{path}',
      '',
      'git: not known yet: tools, prompts; read them with: holdfast role reader --wait 30',
    ]);
  });

  const calls = { limit: 'calls', limitValue: 500, spent: 7, freesAt: null } as const;
  const own = { role: 'reader', per: 'principal', principal: 'token:ci', limits: [calls] } as const;

  it('says what is spent of its budget, by whom, if that is known #command-line', () => {
    const told = (change: Partial<RolePage>) =>
      roleLines({ ...page, ...change }, plain, Number.POSITIVE_INFINITY).slice(1, 5);
    expect(told({ spent: [own] })).toEqual([
      ...['', 'Spent of budgets', 'token:ci: 7 of 500 calls', ''],
    ]);
    expect(told({ spent: [] })).toEqual(['', 'Nothing is spent of its budget', '', 'docs']);
    const budget = { ...page.budget, per: 'session' } as const;
    for (const change of [{ spent: null }, { spent: [], budget }, { spent: [], budget: null }]) {
      expect(told(change).slice(0, 2)).toEqual(['', 'docs']);
    }
  });

  it('fits on forty columns', () => {
    for (const line of roleLines({ ...page, spent: [own] }, plain, 40))
      expect(widthOf(line), line).toBeLessThanOrEqual(40);
  });

  it('says that a role may use everything', () => {
    const [first] = roleLines({ ...page, isEverything: true }, plain, 80);
    expect(first).toContain('everything, also what comes later');
  });
});
