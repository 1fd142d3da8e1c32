// The paths that narrow, over real HTTP: `/mcp/s/SERVER` and `/mcp/r/ROLE`. What is begun under one path is
// unknown under another, and a path that leaves nothing does not exist.

import { describe, expect, it, onTestFinished } from 'vitest';
import type { Authentication, Credential } from '../../src/downstream/http/access/authenticator.ts';
import { startHttp } from '../../src/downstream/http/listener.ts';
import { localUser } from '../../src/policy/principal.ts';
import { newGateway } from '../support/fake-gateway.ts';
import { legacyHeaders, modernBody, modernHeaders } from '../support/http-front.ts';
import { settled } from '../support/manual-clock.ts';
import { text, tool } from '../support/scripted-server.ts';

const scripts = {
  docs: { tools: [tool('search')], on: { 'tools/call': () => text('of docs') } },
  files: { tools: [tool('read')], on: { 'tools/call': () => text('of files') } },
};
const roles = { reader: { allow: ['docs/*'] }, both: { allow: ['docs/*', 'files/*'] } };

/** The token is the role; `local` is the local user. */
const authenticator = {
  authenticate({ token }: Credential): Authentication {
    if (token === 'local') return { principal: localUser };
    return { principal: { id: `token:${token}`, role: token ?? null } };
  },
};

async function world() {
  const { gateway, host, clock } = newGateway(scripts, { settings: { roles } });
  const http = await startHttp({
    front: gateway,
    clock,
    authenticator,
    config: { listen: '127.0.0.1:0', auth: 'token', allowedHosts: [], allowedOrigins: [] },
    identity: { name: 'holdfast', version: '0' },
    report: () => {},
  });
  onTestFinished(async () => {
    await http.close();
    await gateway[Symbol.asyncDispose]();
    await host.close();
  });
  const at = (path: string, token: string, init: RequestInit) =>
    fetch(new URL(path, http.url), {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token}` },
    });
  const modern = async (path: string, token: string, method: string, params: { name?: string }) => {
    const body = JSON.stringify(modernBody(method, params));
    const headers = modernHeaders(method, params.name);
    const response = await at(path, token, { method: 'POST', body, headers });
    await settled();
    return { status: response.status, body: await response.text() };
  };
  const tools = async (path: string, token: string) => {
    const { status, body } = await modern(path, token, 'tools/list', {});
    if (status !== 200) return status;
    const { result } = JSON.parse(body) as { result: { tools: { name: string }[] } };
    return result.tools.map(({ name }) => name);
  };
  const legacy = async (path: string, token: string, frame: object, session?: string) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...frame });
    const response = await at(path, token, {
      method: 'POST',
      body,
      headers: legacyHeaders(session),
    });
    return { status: response.status, session: response.headers.get('mcp-session-id') ?? '' };
  };
  return { modern, tools, legacy };
}

const initialize = {
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'c', version: '1' },
  },
};

describe('a path that narrows', () => {
  it('shows one server under its own names #path-takes-away', async () => {
    const { tools, modern } = await world();
    expect(await tools('/mcp', 'both')).toEqual(['docs__search', 'files__read']);
    expect(await tools('/mcp/s/docs', 'both')).toEqual(['search']);
    expect(await tools('/mcp/s/files', 'local')).toEqual(['read']);
    const called = await modern('/mcp/s/docs', 'both', 'tools/call', { name: 'search' });
    expect(called.body).toContain('of docs');
    const other = await modern('/mcp/s/docs', 'both', 'tools/call', { name: 'files__read' });
    expect(other.body).toContain('Unknown tool');
  });

  it('shows what a role may use, and gives nothing #path-takes-away', async () => {
    const { tools } = await world();
    expect(await tools('/mcp/r/reader', 'local')).toEqual(['docs__search']);
    expect(await tools('/mcp/r/reader', 'both')).toEqual(['docs__search']);
    expect(await tools('/mcp/r/both', 'reader')).toEqual(['docs__search']);
  });

  it.each([
    ['/mcp/s/files', 'a server that is hidden'],
    ['/mcp/s/nothing', 'a server that does not exist'],
    ['/mcp/r/nobody', 'a role that does not exist'],
    ['/mcp/s/constructor', 'a name of every object'],
    ['/mcp/x/docs', 'no path at all'],
  ])('%s is not found: %s #roles-deny', async (path) => {
    const { modern } = await world();
    const { status, body } = await modern(path, 'reader', 'tools/list', {});
    const missing = await modern('/nowhere', 'reader', 'tools/list', {});
    expect({ status, body }).toEqual(missing);
    expect(status).toBe(404);
  });

  it('has sessions of its own #path-takes-away', async () => {
    const { legacy } = await world();
    const { session } = await legacy('/mcp/s/docs', 'both', initialize);
    const list = { method: 'tools/list', params: {} };
    expect((await legacy('/mcp/s/docs', 'both', list, session)).status).toBe(200);
    expect((await legacy('/mcp', 'both', list, session)).status).toBe(404);
    expect((await legacy('/mcp/s/files', 'both', list, session)).status).toBe(404);
    expect((await legacy('/mcp/r/both', 'both', list, session)).status).toBe(404);
    const whole = await legacy('/mcp', 'both', initialize);
    expect((await legacy('/mcp/s/docs', 'both', list, whole.session)).status).toBe(404);
  });
});
