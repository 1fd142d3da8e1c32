// The addresses of the front and the methods of each. A path that is not here does not exist; a
// method that is not here is answered with the list of those that are.

import { ownValue } from '../../kernel/own-value.ts';

export type Route = 'mcp' | 'sse' | 'messages' | 'healthz' | 'readyz';

const routes: Readonly<Record<string, Route>> = {
  '/mcp': 'mcp',
  '/sse': 'sse',
  '/messages': 'messages',
  '/healthz': 'healthz',
  '/readyz': 'readyz',
};

const methods: Readonly<Record<Route, readonly string[]>> = {
  mcp: ['POST', 'GET', 'DELETE'],
  sse: ['GET'],
  messages: ['POST'],
  healthz: ['GET', 'HEAD'],
  readyz: ['GET', 'HEAD'],
};

/** The route of a request target; its query does not count. */
export function routeOf(target: string): Route | undefined {
  if (target === '/mcp') return 'mcp';
  const end = target.indexOf('?');
  const path = end === -1 ? target : target.slice(0, end);
  return ownValue(routes, path);
}

/** What may be asked of a route, for the header `Allow`; undefined if this method may. */
export function allowedInstead(route: Route, method: string | undefined): string | undefined {
  const allowed = methods[route];
  return method !== undefined && allowed.includes(method) ? undefined : allowed.join(', ');
}

/** The session that a message of the 2024 transport is for. */
export function sessionInQuery(target: string): string | undefined {
  const end = target.indexOf('?');
  if (end === -1) return undefined;
  return new URLSearchParams(target.slice(end + 1)).get('sessionId') ?? undefined;
}
