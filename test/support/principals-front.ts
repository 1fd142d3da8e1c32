// The real HTTP front before the real gateway of a test, for principals: who has which token is said by an
// authenticator of the test, by default the one for which a token is the name of a role. Requests are made
// with it on any path, whole or as streams.

import { onTestFinished } from 'vitest';
import type { Authentication, Credential } from '../../src/downstream/http/access/authenticator.ts';
import { type HttpOptions, startHttp } from '../../src/downstream/http/listener.ts';
import { localUser } from '../../src/policy/principal.ts';
import type { newGateway } from './fake-gateway.ts';
import { legacyHeaders, modernBody, modernHeaders } from './http-front.ts';
import { settled } from './manual-clock.ts';

/** The token is the role; `local` is the local user. */
const byRole = {
  authenticate({ token = '' }: Credential): Authentication {
    if (token === 'local') return { principal: localUser };
    return { principal: { id: `token:${token}`, role: token } };
  },
};

type World = Pick<ReturnType<typeof newGateway>, 'gateway' | 'host' | 'clock'>;

/** Ends with the test, and with it the gateway and its host. */
export async function principalsFront(
  { gateway, host, clock }: World,
  options: Pick<Partial<HttpOptions>, 'authenticator' | 'limits'> = {},
) {
  const http = await startHttp({
    front: gateway,
    clock,
    authenticator: byRole,
    config: { listen: '127.0.0.1:0', auth: 'token', allowedHosts: [], allowedOrigins: [] },
    identity: { name: 'holdfast', version: '0' },
    report: () => {},
    ...options,
  });
  const over = new AbortController();
  onTestFinished(async () => {
    over.abort();
    await http.close();
    await gateway[Symbol.asyncDispose]();
    await host.close();
  });
  const at = (path: string, token: string, init: RequestInit) =>
    fetch(new URL(path, http.url), {
      signal: over.signal,
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token}` },
    });
  /** One modern request, and its whole answer. */
  const modern = async (path: string, token: string, method: string, params: { name?: string }) => {
    const body = JSON.stringify(modernBody(method, params));
    const headers = modernHeaders(method, params.name);
    const response = await at(path, token, { method: 'POST', body, headers });
    await settled();
    return { status: response.status, body: await response.text() };
  };
  /** One legacy request; its whole answer is read. */
  const legacy = async (path: string, token: string, frame: object, session?: string) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...frame });
    const headers = legacyHeaders(session);
    const response = await at(path, token, { method: 'POST', body, headers });
    await response.text();
    return { status: response.status, session: response.headers.get('mcp-session-id') ?? '' };
  };
  const initialize = (path: string, token: string) => legacy(path, token, initializeFrame);
  return {
    url: http.url,
    port: http.address.port,
    signal: over.signal,
    at,
    modern,
    legacy,
    initialize,
  };
}

const initializeFrame = {
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'c', version: '1' },
  },
};
