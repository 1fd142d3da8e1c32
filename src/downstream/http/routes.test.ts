// The recipe "a new route" in CONTRIBUTING.md is held here: a row that leaves out who may use it, or
// the limit of a body, does not compile; a route that anybody may use is listed below, so that none
// becomes public unnoticed.

import { describe, expect, it } from 'vitest';
import type { LegacyEndpoint } from './legacy/legacy-endpoint.ts';
import type { OldTransport } from './legacy/sse-2024.ts';
import type { McpEndpoint } from './mcp-endpoint.ts';
import { type HttpRoute, RouteTable } from './route-table.ts';
import { httpRoutes } from './routes.ts';

/** Answered without a credential. Add one only if whoever reaches the port may know what it says. */
const publicPaths = ['/healthz', '/readyz'];

/** No test here calls a handler. */
const rows = httpRoutes({
  mcp: {} as McpEndpoint,
  legacy: {} as LegacyEndpoint,
  old: {} as OldTransport,
  identity: { name: 'holdfast', version: '0' },
  readiness: () => ({ ready: true }),
  narrowed: (principal) => principal,
  limits: { bodyBytes: 1000 },
});

const table = new RouteTable(rows);

describe('the routes', () => {
  it.each([
    ['/mcp', 'POST, GET, DELETE'],
    ['/mcp?x=1', 'POST, GET, DELETE'],
    ['/mcp/s/docs', 'POST, GET, DELETE'],
    ['/mcp/r/reader?x=1', 'POST, GET, DELETE'],
    ['/sse', 'GET'],
    ['/messages?sessionId=a', 'POST'],
    ['/healthz', 'GET, HEAD'],
    ['/readyz', 'GET, HEAD'],
  ])('has %s', (target, allow) => {
    expect(table.find(target)?.allow).toBe(allow);
  });

  it.each([
    '/',
    '',
    '/mcp/',
    '/MCP',
    '/mcp/x',
    '/mcp/s',
    '/mcp/s/',
    '/mcp/s/a/b',
    '/mcp/s/%64ocs',
    '/mcp/s/docs/',
    '/mcp/x/docs',
    '//mcp',
    '/constructor',
    '/__proto__',
    'mcp',
    '*',
    '/../mcp',
  ])('has no %j', (target) => {
    expect(table.find(target)).toBeUndefined();
  });

  it.each(rows.map((row) => [row.path, row] as const))(
    '%s says who may use it, and has a handler for each method, with a limit where there is a body',
    (_, row) => {
      expect(['public', 'principal', 'operator']).toContain(row.access);
      const methods = Object.entries(row.methods);
      expect(methods.length).toBeGreaterThan(0);
      for (const [name, method] of methods) {
        expect(method.handle, name).toBeTypeOf('function');
        const limit = method.body?.maxBytes ?? 'none';
        expect(limit, name).toBe(['GET', 'HEAD', 'DELETE'].includes(name) ? 'none' : 1000);
      }
    },
  );

  it('are those of this list: a new one says here who may use it, and whether its path takes rights away', () => {
    const found = rows.map((row) => {
      const isNarrow = row.access !== 'public' && row.narrow !== undefined;
      return `${row.path} ${row.access}${isNarrow ? ', narrowed' : ''}`;
    });
    expect(found).toEqual([
      '/mcp principal',
      '/mcp/s/:server principal, narrowed',
      '/mcp/r/:role principal, narrowed',
      '/sse principal',
      '/messages principal',
      '/healthz public',
      '/readyz public',
    ]);
  });

  it('are public only where that is meant', () => {
    const found = rows.filter(({ access }) => access === 'public').map(({ path }) => path);
    expect(found).toEqual(publicPaths);
  });

  it('do not compile without an access, a body limit, or with a principal that nobody has verified', () => {
    const handle = () => {};
    // @ts-expect-error: who may use it?
    const noAccess: HttpRoute = { path: '/x', methods: { GET: { handle } } };
    // @ts-expect-error: how long may a body be?
    const noLimit: HttpRoute = { path: '/x', access: 'principal', methods: { POST: { handle } } };
    const noPrincipal: HttpRoute = {
      path: '/x',
      access: 'public',
      // @ts-expect-error: on a public route nobody has shown who they are
      methods: { GET: { handle: ({ principal }) => principal.id } },
    };
    expect([noAccess, noLimit, noPrincipal]).toHaveLength(3);
  });
});
