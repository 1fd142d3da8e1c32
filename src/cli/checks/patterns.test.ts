// What doctor says of the patterns of roles.

import { describe, expect, it } from 'vitest';
import type { KnownThings } from '../known-things.ts';
import { checkPatterns } from './patterns.ts';

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
    const listed = "of the role 'r' matches nothing that the servers have listed so far";
    expect(texts(['docs/serch', 'prompt:docs/revew', 'resource:docs/http*'])).toEqual([
      `note "docs/serch" in "allow" ${listed}; did you mean "docs/search"?`,
      `note "prompt:docs/revew" in "allow" ${listed}; did you mean "prompt:docs/review"?`,
      `note "resource:docs/http*" in "allow" ${listed}`,
    ]);
    expect(texts(['dcos/search'])[0]).toContain(
      'there is no such server; did you mean "docs/search"?',
    );
  });

  it('in "deny" that look misspelt are problems: they deny nothing', () => {
    const denied = ['docs/serch', 'dcos/*', 'docs/delete_*'];
    const checks = checkPatterns(role(['docs/*'], denied), servers, known);
    expect(checks).toMatchObject([
      { kind: 'finding', remedy: expect.stringContaining('did you mean "docs/search"?') },
      { kind: 'finding', remedy: expect.stringContaining('did you mean "docs/*"?') },
      { kind: 'note', text: expect.stringContaining('it denies nothing') },
    ]);
    // Addresses of a template cannot be listed.
    expect(texts(['docs/*'], ['resource:docs/file:///secret/*'])).toEqual([]);
  });

  it('that are none are noted', () => {
    expect(texts([])).toEqual(['note the role \'r\' may use nothing: its "allow" is empty']);
    expect(texts([], ['docs/search'])).toHaveLength(1);
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
