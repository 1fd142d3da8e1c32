// Every route of the HTTP front: the one place where a route is added. The front door
// (front-door.ts) finds the row, authenticates, reads the body and calls the handler; it knows no
// route by name. route-table.ts says what a row must have.

import type { Cut, Principal } from '../../policy/principal.ts';
import { answerPlainly } from './answers.ts';
import type { LegacyEndpoint } from './legacy/legacy-endpoint.ts';
import type { OldTransport } from './legacy/sse-2024.ts';
import type { McpEndpoint } from './mcp-endpoint.ts';
import type { HttpRoute, RequestContext } from './route-table.ts';

/** What /readyz says: 200 if it is ready, 503 if not. Everybody may read it. */
export interface Readiness {
  readonly ready: boolean;
  /** What it shares with other replicas cannot be used now; what needs that is refused. */
  readonly store?: 'failing';
}

/** What the handlers need. */
export interface RouteParts {
  readonly mcp: McpEndpoint;
  readonly legacy: LegacyEndpoint;
  readonly old: OldTransport;
  /** The principal behind a path that takes rights away; undefined if nothing is left of them. */
  readonly narrowed: (principal: Principal, cut: Cut) => Principal | undefined;
  /** Who we say we are at /healthz. */
  readonly identity: { readonly name: string; readonly version: string };
  readonly readiness: () => Readiness;
  readonly limits: { readonly bodyBytes: number };
}

export function httpRoutes(parts: RouteParts): readonly HttpRoute[] {
  const { mcp, legacy, old, identity, readiness, limits, narrowed } = parts;
  const body = { maxBytes: limits.bodyBytes };
  const health = {
    handle: ({ res }: RequestContext<undefined>) =>
      answerPlainly(res, 200, { ok: true, ...identity }),
  };
  const ready = {
    handle: ({ res }: RequestContext<undefined>) => {
      const now = readiness();
      answerPlainly(res, now.ready ? 200 : 503, { ...now });
    },
  };
  const methods = {
    POST: { handle: (context: RequestContext) => mcp.post(context), body },
    GET: { handle: (context: RequestContext) => legacy.get(context) },
    DELETE: { handle: (context: RequestContext) => legacy.delete(context) },
  };
  const cutTo = (kind: Cut['kind']) => (principal: Principal, name: string) =>
    narrowed(principal, { kind, name });
  return [
    { path: '/mcp', access: 'principal', methods },
    // The same with less: one server under its own names, or what a role may use.
    { path: '/mcp/s/:server', access: 'principal', narrow: cutTo('server'), methods },
    { path: '/mcp/r/:role', access: 'principal', narrow: cutTo('role'), methods },
    // The transport of 2024-11-05.
    {
      path: '/sse',
      access: 'principal',
      methods: { GET: { handle: (context) => old.open(context) } },
    },
    {
      path: '/messages',
      access: 'principal',
      methods: { POST: { handle: (context) => old.post(context), body } },
    },
    { path: '/healthz', access: 'public', methods: { GET: health, HEAD: health } },
    { path: '/readyz', access: 'public', methods: { GET: ready, HEAD: ready } },
  ];
}
