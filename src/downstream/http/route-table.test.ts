import { describe, expect, it } from 'vitest';
import { type HttpRoute, RouteTable } from './route-table.ts';

const handle = () => {};
const row = (path: string): HttpRoute => ({
  path,
  access: 'principal',
  methods: { POST: { handle, body: { maxBytes: 10 } }, GET: { handle } },
});

describe('a table of routes', () => {
  it('has the methods of each route, and no others', () => {
    const route = new RouteTable([row('/a')]).find('/a');
    expect(route?.entryFor('POST')).toMatchObject({ access: 'principal', body: { maxBytes: 10 } });
    expect(route?.entryFor('GET')).toMatchObject({ access: 'principal' });
    for (const method of ['HEAD', 'PUT', 'post', 'constructor', '__proto__', '', undefined]) {
      expect(route?.entryFor(method), method).toBeUndefined();
    }
  });

  it('has no path twice', () => {
    expect(() => new RouteTable([row('/a'), row('/a')])).toThrow(TypeError);
    expect(() => new RouteTable([row('/a/:x'), row('/a/:y')])).toThrow(TypeError);
  });

  const table = new RouteTable([row('/mcp'), row('/mcp/s/:server'), row('/mcp/s/fixed')]);

  it.each([
    ['/mcp/s/git', 'git'],
    ['/mcp/s/git?x=/y', 'git'],
    ['/mcp/s/a.b-c_d~e', 'a.b-c_d~e'],
    ['/mcp/s/__proto__', '__proto__'],
  ])('finds the segment that a route leaves open: %s', (target, parameter) => {
    expect(table.find(target)?.parameterIn(target)).toBe(parameter);
  });

  it('prefers the path that is written out, which has no parameter', () => {
    const fixed = table.find('/mcp/s/fixed');
    expect(fixed).toBeDefined();
    expect(fixed).not.toBe(table.find('/mcp/s/other'));
    expect(fixed?.parameterIn('/mcp/s/fixed')).toBeUndefined();
  });

  it.each([
    '/mcp/s/',
    '/mcp/s',
    '/mcp/s/?x',
    '/mcp/s/a/b',
    '/mcp/s/a/',
    '/mcp/s//a',
    '/mcp/s/%67it',
    '/mcp/s/a%2Fb',
    '/mcp/s/a b',
    '/mcp/s/é',
    '/mcp/x/git',
    'mcp/s/git',
    '/mcp/s/:server#x',
  ])('has no %j', (target) => {
    expect(table.find(target)).toBeUndefined();
  });
});
