// What doctor says of roles and tokens.

import { describe, expect, it } from 'vitest';
import type { KnownThings } from '../known-things.ts';
import { checkPatterns, checkTokens } from './access.ts';

const known: KnownThings = {
  things: [
    { server: 'docs', list: 'tools', name: 'search' },
    { server: 'docs', list: 'prompts', name: 'review' },
    { server: 'docs', list: 'resourceTemplates', name: 'file:///{path}' },
    { server: 'holdfast', list: 'tools', name: 'health_snapshot' },
  ],
  unknown: [{ server: 'files', lists: ['tools', 'prompts'] }],
};
const servers = ['docs', 'files'];
const role = (allow: string[], deny: string[] = []) => ({
  roles: { r: { allow, deny, operator: false, budget: null } },
});
const texts = (allow: string[], deny?: string[]) =>
  checkPatterns(role(allow, deny), servers, known).map(({ kind, text }) => `${kind} ${text}`);

describe('patterns of roles', () => {
  it('that match nothing are noted', () => {
    expect(texts(['docs/serch', 'prompt:docs/x', 'resource:docs/http*'], ['docs__y'])).toEqual([
      'note "docs/serch" in "allow" of the role \'r\' matches nothing that the servers have',
      'note "prompt:docs/x" in "allow" of the role \'r\' matches nothing that the servers have',
      'note "resource:docs/http*" in "allow" of the role \'r\' matches nothing that the servers have',
      'note "docs__y" in "deny" of the role \'r\' matches nothing that the servers have',
    ]);
    expect(texts(['dcos/search'])[0]).toContain('there is no such server');
  });

  it('that match something, or may because a list is not known, are not', () => {
    const good = [
      '*',
      'docs/*',
      'prompt:docs/rev*',
      'resource:docs/file:///*',
      'holdfast/health_*',
    ];
    expect(texts(good)).toEqual([]);
    expect(texts(['files/read', 'prompt:files/*', 'f*/x', '*/unknown'])).toEqual([]);
    // Its resources are known to be none.
    expect(texts(['resource:files/x'])).toHaveLength(1);
  });
});

describe('tokens', () => {
  const token = { id: 'a', name: 'ci', role: 'r', createdAt: 0, expiresAt: null, lastUsedAt: null };

  it('whose role the config does not have are findings, expired ones are notes', () => {
    const check = (more: object) => checkTokens(role([]), [{ ...token, ...more }], 10);
    expect(check({})).toEqual([]);
    expect(check({ role: null })).toEqual([]);
    expect(check({ expiresAt: 11 })).toEqual([]);
    expect(check({ role: 'gone' })).toMatchObject([
      { kind: 'finding', remedy: expect.stringContaining('holdfast token revoke ci') },
    ]);
    expect(check({ expiresAt: 10, role: 'gone' })).toMatchObject([
      { kind: 'note', text: expect.stringContaining('has expired') },
    ]);
  });
});
