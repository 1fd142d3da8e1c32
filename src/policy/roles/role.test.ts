// What a role allows: by its patterns, object by object, and for servers as a whole.

import { describe, expect, it } from 'vitest';
import { type AccessRequest, kindRequest, serverRequest } from '../access.ts';
import { patternProblem } from './pattern.ts';
import { Role } from './role.ts';

function role(allow: readonly string[], deny: readonly string[] = [], operator = false) {
  const made = new Role('r', { allow, deny, operator });
  const may = (request: AccessRequest) => made.denial(request) === undefined;
  const named = (kind: 'tool' | 'prompt' | 'resource') => (server: string, name: string) =>
    may({ action: 'call', server, kind, name, method: null });
  const other = (action: 'request' | 'notify', server: string, name: string) =>
    may({ action, server, kind: 'other', name, method: name });
  return {
    made,
    may,
    tool: named('tool'),
    prompt: named('prompt'),
    resource: named('resource'),
    other,
  };
}

describe('a role', () => {
  it('allows what a pattern matches, and nothing else #roles-deny', () => {
    const { tool, prompt, resource } = role([
      ...['docs/search', 'files/read_*', 'git__log', 'wiki__*'],
      ...['prompt:docs/*', 'resource:docs/file:///public/*'],
    ]);
    expect(tool('docs', 'search')).toBe(true);
    expect(tool('docs', 'Search')).toBe(false);
    expect(tool('docs', 'search2')).toBe(false);
    expect(tool('files', 'read_file')).toBe(true);
    expect(tool('files', 'write_file')).toBe(false);
    expect(tool('git', 'log')).toBe(true);
    expect(tool('git', 'push')).toBe(false);
    expect(tool('wiki', 'anything')).toBe(true);
    expect(prompt('docs', 'review')).toBe(true);
    expect(prompt('files', 'review')).toBe(false);
    expect(resource('docs', 'file:///public/a/b')).toBe(true);
    expect(resource('docs', 'file:///private')).toBe(false);
    expect(resource('files', 'file:///public/a')).toBe(false);
  });

  it('denies what "deny" matches, whatever "allow" says #roles-deny', () => {
    const { tool, prompt } = role(['*'], ['files/delete_*', 'prompt:docs/secret']);
    expect(tool('files', 'read')).toBe(true);
    expect(tool('files', 'delete_all')).toBe(false);
    expect(prompt('docs', 'open')).toBe(true);
    expect(prompt('docs', 'secret')).toBe(false);
  });

  it('with an empty "allow" allows nothing #roles-deny', () => {
    const { tool, may, other } = role([]);
    expect(tool('docs', 'search')).toBe(false);
    expect(may(serverRequest('list', 'docs'))).toBe(false);
    expect(may(serverRequest('start', 'docs'))).toBe(false);
    expect(other('request', 'docs', 'x/y')).toBe(false);
  });

  it('sees a server of which it may use something, kind by kind', () => {
    const { may } = role(['docs/search', 'prompt:wiki/*', 'git__*'], ['git/*']);
    expect(may(serverRequest('list', 'docs'))).toBe(true);
    expect(may(serverRequest('list', 'wiki'))).toBe(true);
    expect(may(serverRequest('list', 'git'))).toBe(false);
    expect(may(serverRequest('list', 'other'))).toBe(false);
    expect(may(kindRequest('start', 'docs', 'tool'))).toBe(true);
    expect(may(kindRequest('start', 'docs', 'prompt'))).toBe(false);
    expect(may(kindRequest('list', 'wiki', 'prompt'))).toBe(true);
    expect(may(kindRequest('list', 'wiki', 'tool'))).toBe(false);
  });

  it('needs all of a server for a method that MCP does not define', () => {
    const whole = ['docs/*', 'prompt:docs/*', 'resource:docs/*'];
    expect(role(whole).other('request', 'docs', 'x/y')).toBe(true);
    expect(role(['*']).other('notify', 'docs', 'notifications/x')).toBe(true);
    expect(role(whole.slice(1)).other('request', 'docs', 'x/y')).toBe(false);
    expect(role(['docs/*']).other('request', 'docs', 'x/y')).toBe(false);
    expect(role(whole, ['docs/delete']).other('request', 'docs', 'x/y')).toBe(false);
    expect(role(['*'], ['files/*']).other('request', 'docs', 'x/y')).toBe(true);
    const roots = 'notifications/roots/list_changed';
    expect(role(['docs/search']).other('notify', 'docs', roots)).toBe(true);
    expect(role(['docs/search']).other('notify', 'files', roots)).toBe(false);
  });

  it('operates the servers it may use only as an operator, and never adds one', () => {
    const plain = role(['docs/*']);
    const operator = role(['docs/*'], [], true);
    for (const action of ['stop', 'reload', 'events'] as const) {
      expect(plain.may(serverRequest(action, 'docs'))).toBe(false);
      expect(operator.may(serverRequest(action, 'docs'))).toBe(true);
      expect(operator.may(serverRequest(action, 'files'))).toBe(false);
    }
    expect(role(['*'], [], true).may(serverRequest('spawn', 'docs'))).toBe(false);
  });

  it('has the tools that find others, which say only what it may see; the host tools by a pattern', () => {
    const { tool } = role(['docs/search']);
    expect(tool('holdfast', 'search_tools')).toBe(true);
    expect(tool('holdfast', 'call_tool')).toBe(true);
    expect(tool('holdfast', 'health_snapshot')).toBe(false);
    expect(role(['holdfast/health_*']).tool('holdfast', 'health_snapshot')).toBe(true);
    expect(role(['*'], ['holdfast/search_tools']).tool('holdfast', 'search_tools')).toBe(false);
    expect(tool('other', 'search_tools')).toBe(false);
  });

  it.each([
    'file:///public/../private/key',
    'file:///public/%2e%2e/private/key',
    'file:///public/%2E./private',
    'file:///public/./a',
    'file:///public/..',
    'file:///%70ublic/a',
    'file:///public%2fa',
    'file:///public/a%5cb',
    'file:///public/a\\..\\b',
    'FILE:///public/a',
    'mem:..',
  ])(
    'does not decide by a pattern about %s, which can be read in several ways #roles-deny',
    (uri) => {
      expect(role(['resource:docs/*']).resource('docs', uri)).toBe(false);
      expect(role(['*'], ['resource:docs/file:///private/*']).resource('docs', uri)).toBe(false);
      expect(role(['*']).resource('docs', uri)).toBe(true);
    },
  );

  it.each([
    'file:///public/a..b',
    'file:///public/.hidden',
    'x://a/b%20c',
    'x://a?b=%C3%A9',
    'docs:a/{+path}',
    'file:///a/...',
  ])('decides about %s, which can be read in one way only', (uri) =>
    expect(role(['resource:docs/*']).resource('docs', uri)).toBe(true),
  );

  it.each(['constructor', '__proto__', 'toString'])('takes the name %s for a name', (name) => {
    const { tool, may } = role(['docs/search']);
    expect(tool(name, name)).toBe(false);
    expect(tool('docs', name)).toBe(false);
    expect(may(serverRequest('list', name))).toBe(false);
  });

  it('is everything only if nothing is denied', () => {
    expect(role(['*']).made.isEverything).toBe(true);
    expect(role(['*', 'docs/*']).made.isEverything).toBe(true);
    expect(role(['*'], ['docs/x']).made.isEverything).toBe(false);
    expect(role(['*/*', 'prompt:*', 'resource:*']).made.isEverything).toBe(false);
  });
});

describe('a text of the config', () => {
  it.each([
    'docs/*',
    '*',
    'a__b',
    'prompt:a/b',
    'prompt:*',
    'resource:a/file:///*',
    'resource:*',
    '*/x',
  ])('%s is a pattern', (text) => expect(patternProblem(text)).toBeUndefined());

  it.each(['', '  ', ' docs/*', 'docs', '/x', 'docs/', 'prompt:', 'prompt:/x', 'resource:a'])(
    '"%s" is none',
    (text) => expect(patternProblem(text)).toEqual(expect.any(String)),
  );
});
