// The paths that narrow, over real HTTP: `/mcp/s/SERVER` and `/mcp/r/ROLE`. What is begun under one path is
// unknown under another, and a path that leaves nothing does not exist.

import { describe, expect, it } from 'vitest';
import { newGateway } from '../support/fake-gateway.ts';
import { principalsFront } from '../support/principals-front.ts';
import { text, tool } from '../support/scripted-server.ts';

const scripts = {
  docs: { tools: [tool('search')], on: { 'tools/call': () => text('of docs') } },
  files: { tools: [tool('read')], on: { 'tools/call': () => text('of files') } },
};
const roles = { reader: { allow: ['docs/*'] }, both: { allow: ['docs/*', 'files/*'] } };

async function world() {
  const front = await principalsFront(newGateway(scripts, { settings: { roles } }));
  const tools = async (path: string, token: string) => {
    const { status, body } = await front.modern(path, token, 'tools/list', {});
    if (status !== 200) return status;
    const { result } = JSON.parse(body) as { result: { tools: { name: string }[] } };
    return result.tools.map(({ name }) => name);
  };
  return { ...front, tools };
}

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
    const { legacy, initialize } = await world();
    const { session } = await initialize('/mcp/s/docs', 'both');
    const list = { method: 'tools/list', params: {} };
    expect((await legacy('/mcp/s/docs', 'both', list, session)).status).toBe(200);
    expect((await legacy('/mcp', 'both', list, session)).status).toBe(404);
    expect((await legacy('/mcp/s/files', 'both', list, session)).status).toBe(404);
    expect((await legacy('/mcp/r/both', 'both', list, session)).status).toBe(404);
    const whole = await initialize('/mcp', 'both');
    expect((await legacy('/mcp/s/docs', 'both', list, whole.session)).status).toBe(404);
  });
});
