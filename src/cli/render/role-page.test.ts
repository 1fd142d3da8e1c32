// The page of a role: every thing with a yes or the reason for the no.

import { describe, expect, it } from 'vitest';
import { roleLines } from './role-page.ts';
import { widthOf } from './width.ts';

const plain = (_look: string, text: string) => text;
const page = {
  role: 'reader',
  isEverything: false,
  isOperator: true,
  budget: { calls: 500, perMinute: 60, bytes: null, per: 'principal' },
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

  it('fits on forty columns', () => {
    for (const line of roleLines(page, plain, 40))
      expect(widthOf(line), line).toBeLessThanOrEqual(40);
  });

  it('says that a role may use everything', () => {
    const [first] = roleLines({ ...page, isEverything: true }, plain, 80);
    expect(first).toContain('everything, also what comes later');
  });
});
