import { describe, expect, it } from 'vitest';
import { allowedInstead, routeOf, sessionInQuery } from './routes.ts';

describe('the routes', () => {
  it.each([
    ['/mcp', 'mcp'],
    ['/mcp?x=1', 'mcp'],
    ['/sse', 'sse'],
    ['/messages?sessionId=a', 'messages'],
    ['/healthz', 'healthz'],
    ['/readyz', 'readyz'],
  ])('has %s', (target, route) => {
    expect(routeOf(target)).toBe(route);
  });

  it.each([
    '/',
    '',
    '/mcp/',
    '/MCP',
    '/mcp/x',
    '//mcp',
    '/constructor',
    '/__proto__',
    'mcp',
    '*',
    '/../mcp',
  ])('has no %j', (target) => {
    expect(routeOf(target)).toBeUndefined();
  });

  it('say what may be asked instead', () => {
    expect(allowedInstead('mcp', 'PUT')).toBe('POST, GET, DELETE');
    expect(allowedInstead('messages', 'GET')).toBe('POST');
    expect(allowedInstead('sse', undefined)).toBe('GET');
    for (const method of ['POST', 'GET', 'DELETE']) {
      expect(allowedInstead('mcp', method)).toBeUndefined();
    }
  });

  it('read the session of the 2024 transport, and nothing else, from the query', () => {
    expect(sessionInQuery('/messages?sessionId=a-b_c')).toBe('a-b_c');
    expect(sessionInQuery('/messages?x=1&sessionId=a')).toBe('a');
    expect(sessionInQuery('/messages?session=a')).toBeUndefined();
    expect(sessionInQuery('/messages')).toBeUndefined();
  });
});
