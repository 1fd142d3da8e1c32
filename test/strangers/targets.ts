// Everything at the gateway that a client can send something to: the rows of the table of routes, the methods that are
// answered, and what the control socket takes. All of it is read from the tables of the product, so that a new route or
// method is tried without a word here. Besides, what other gateways have had by which they started programs.

import type { LegacyEndpoint } from '../../src/downstream/http/legacy/legacy-endpoint.ts';
import type { OldTransport } from '../../src/downstream/http/legacy/sse-2024.ts';
import type { McpEndpoint } from '../../src/downstream/http/mcp-endpoint.ts';
import { httpRoutes } from '../../src/downstream/http/routes.ts';
import { answeredMethods } from '../../src/downstream/methods.ts';
import { askSchema } from '../../src/instance/protocol.ts';

export interface Target {
  readonly path: string;
  readonly methods: readonly string[];
}

/** No handler is called here. */
export const routes: readonly Target[] = httpRoutes({
  mcp: {} as McpEndpoint,
  legacy: {} as LegacyEndpoint,
  old: {} as OldTransport,
  identity: { name: '', version: '' },
  readiness: () => ({ ready: true }),
  narrowed: (principal) => principal,
  limits: { bodyBytes: 1 },
}).map(({ path, methods }) => ({ path, methods: Object.keys(methods) }));

/** What the control socket is asked. */
export const controlAsks: readonly string[] = askSchema.options.map(({ shape }) => shape.ask.value);

export const rpcMethods: readonly string[] = [
  ...answeredMethods,
  ...controlAsks,
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/roots/list_changed',
  'callCommand',
  'holdfast/callCommand',
  'host/apply',
  'config/apply',
  'mcpServers/add',
  'servers/add',
  'servers/test',
  'server/start',
  'roots/list',
  'sampling/createMessage',
  'spawn',
  'exec',
  '__proto__',
  'constructor',
];

export const strangePaths: readonly string[] = [
  '/',
  '/mcp/',
  '/mcp/s/',
  '/mcp/x/seen',
  '/servers',
  '/api/servers',
  '/api/mcp/test/connection',
  '/mcp-proxy/server/stdio',
  '/stdio',
  '/connect',
  '/config',
  '/admin/servers',
  '/register',
  '/sse/',
  '/messages/',
  '/healthz/',
  '/.well-known/mcp.json',
  '/mcp/../config',
  '/%2e%2e/mcp',
];

export const strangeMethods: readonly string[] = [
  'PUT',
  'PATCH',
  'OPTIONS',
  'HEAD',
  'TRACE',
  'DELETE',
  'GET',
  'POST',
  'PROPFIND',
];
