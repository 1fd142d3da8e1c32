import { describe, expect, test } from 'vitest';
import {
  isSearchSurfaceTool,
  readDescribeTool,
  readSearchTools,
  searchSurfaceDefinitions,
  searchSurfaceNames,
} from './search-surface.ts';

describe('the definitions of the search surface', () => {
  test('are the three tools in the order of their use', () => {
    const names = searchSurfaceDefinitions().map((text) => JSON.parse(text).name);
    expect(names).toEqual(searchSurfaceNames);
    expect(names.every(isSearchSurfaceTool)).toBe(true);
    expect(isSearchSurfaceTool('health_snapshot')).toBe(false);
  });

  test('stay small: they are in every conversation', () => {
    expect(searchSurfaceDefinitions().join('').length).toBeLessThan(2_000);
  });

  test('claim that looking is harmless and that calling may not be', () => {
    const [search, describes, call] = searchSurfaceDefinitions().map((text) => JSON.parse(text));
    expect(search.annotations.readOnlyHint).toBe(true);
    expect(describes.annotations.readOnlyHint).toBe(true);
    expect(call.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
  });

  test('name the servers, as far as there are not too many', () => {
    const described = (servers: readonly string[]) =>
      JSON.parse(searchSurfaceDefinitions(servers)[0] ?? '').description as string;
    expect(described(['docs', 'files'])).toMatch(/ Servers: docs, files\.$/);
    expect(described([])).not.toContain('Servers');
    const many = Array.from({ length: 100 }, (_, index) => `s${index}`);
    expect(described(many)).toMatch(/, s39 and 60 more\.$/);
  });
});

describe('the arguments of search_tools', () => {
  test('need a query only', () => {
    expect(readSearchTools({ query: 'read file' })).toEqual({
      kind: 'search',
      query: 'read file',
      limit: 10,
      server: undefined,
    });
  });

  test('may have a limit and a server', () => {
    expect(readSearchTools({ query: '', limit: 50, server: 'docs' })).toMatchObject({
      kind: 'search',
      limit: 50,
      server: 'docs',
    });
  });

  test.each([
    [undefined, 'the argument "query" is missing; it must be a text, for example "read file"'],
    [{ query: 5 }, 'the argument "query" is 5; it must be a text, for example "read file"'],
    [
      { query: 'a', limit: 51 },
      'the argument "limit" is 51; it must be a whole number from 1 to 50',
    ],
    [{ query: 'a', limit: 0 }, 'the argument "limit" is 0; it must be a whole number from 1 to 50'],
    [
      { query: 'a', limit: 1.5 },
      'the argument "limit" is 1.5; it must be a whole number from 1 to 50',
    ],
    [
      { query: 'a', limit: '5' },
      'the argument "limit" is "5"; it must be a whole number from 1 to 50',
    ],
    [
      { query: 'a', server: 7 },
      'the argument "server" is 7; it must be the name of a server; leave it out to search all',
    ],
    [
      { query: 'a', sever: 'docs' },
      'there is no argument "sever"; did you mean "server"? it takes "query", "limit", "server"',
    ],
    ['read file', 'the arguments must be an object, not "read file"'],
  ])('%j are refused with what is allowed', (args, complaint) => {
    expect(readSearchTools(args)).toEqual({
      kind: 'invalid',
      message: `search_tools: ${complaint}`,
    });
  });
});

describe('the arguments of describe_tool', () => {
  test('are a name', () => {
    expect(readDescribeTool({ name: 'docs__find' })).toEqual({
      kind: 'describe',
      name: 'docs__find',
    });
  });

  test.each([
    [{}, 'is missing'],
    [{ name: '' }, 'is ""'],
    [{ name: { a: 1 } }, 'is an object'],
  ])('%j are refused with what is allowed', (args, found) => {
    expect(readDescribeTool(args)).toEqual({
      kind: 'invalid',
      message: `describe_tool: the argument "name" ${found}; it must be the name of a tool as returned by search_tools`,
    });
  });
});
