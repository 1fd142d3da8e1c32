// A server's process does not see the state directory of the instance, with the control socket in it, where
// it has a pid namespace; where it has none, it does, and `status` says what it has.

import { mkdirSync, renameSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { instanceEnded, openWindow } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { pathWithoutUnshare } from '../support/path-without-unshare.ts';

/** Looks into a folder, tries to connect to a socket, and writes a file there. */
const nosy = `
  const fs = require('node:fs');
  const net = require('node:net');
  const { createInterface } = require('node:readline');
  const { STATE_PATH: state, SOCKET_PATH: socket } = process.env;
  const tried = (work) => { try { return work(); } catch (error) { return error.code; } };
  const connected = () => new Promise((resolve) => {
    const peer = net.connect(socket, () => { peer.destroy(); resolve('connected'); });
    peer.on('error', ({ code }) => resolve(code));
  });
  const reply = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  createInterface({ input: process.stdin }).on('line', async (line) => {
    const { id, method, params } = JSON.parse(line);
    const serverInfo = { name: 'nosy', version: '1' };
    if (method === 'initialize') {
      return reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
    }
    if (method === 'tools/list') return reply(id, { tools: [{ name: 'look', inputSchema: { type: 'object' } }] });
    if (id === undefined) return;
    const seen = {
      names: tried(() => fs.readdirSync(state)),
      written: tried(() => fs.writeFileSync(state + '/x', 'x')),
      socket: await connected(),
    };
    reply(id, { content: [{ type: 'text', text: JSON.stringify(seen) }] });
  });
`;

async function lookAround(hasNamespaces: boolean) {
  const home = await GatewayHome.create();
  const { socket } = home.place;
  // Not as arguments: a server that is given such a path has to see it.
  const env = { STATE_PATH: home.state, SOCKET_PATH: socket };
  const entry = { command: process.execPath, args: ['-e', nosy], env };
  await home.configure({ mcpServers: { nosy: entry } });
  mkdirSync(home.state, { recursive: true });
  try {
    const path = hasNamespaces ? {} : { PATH: pathWithoutUnshare(home.file('path')) };
    await using served = await home.serve(undefined, path);
    using client = new HttpClient(served.url);
    const { result } = await client.call('nosy__look');
    const { servers } = JSON.parse((await home.run(['status', '--json'])).stdout);
    const seen = JSON.parse(result.content[0].text) as Record<string, unknown>;
    return { ...seen, containment: servers[0].containment } as Record<string, unknown>;
  } finally {
    await home[Symbol.asyncDispose]();
  }
}

describe('the state directory', () => {
  it('is hidden from a server in a pid namespace, and so is the control socket #one-instance', async () => {
    const { names, written, socket, containment } = await lookAround(true);
    expect(containment).toBe('pidns');
    expect(names).not.toContain('by-config');
    expect(names).toContain('self');
    expect(written).not.toBeUndefined();
    expect(socket).toBe('ENOENT');
  });

  it('is not hidden where there is no pid namespace, and the containment says so', async () => {
    const { names, socket, containment } = await lookAround(false);
    expect(containment).not.toBe('pidns');
    expect(names).toContain('by-config');
    expect(socket).toBe('connected');
  });

  it('that was moved away cannot be hidden: no server is started any more #one-instance', async () => {
    await using home = await GatewayHome.create();
    await home.configure({ mcpServers: { one: faultyStdio(), two: faultyStdio() } });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    expect((await client.call('one__echo', { text: 'x' })).result.isError).not.toBe(true);
    await home.run(['stop', 'two']);
    renameSync(home.state, `${home.state}-old`);
    mkdirSync(home.state);
    const { result } = await client.call('two__echo', { text: 'x' });
    expect(JSON.stringify(result)).toContain('was moved or replaced');
  });

  it('is no folder of a client #one-instance', async () => {
    await using home = await GatewayHome.create();
    await home.configure({ mcpServers: { here: { ...faultyStdio(), cwd: 'client' } } });
    mkdirSync(home.state, { recursive: true });
    {
      await using window = await openWindow(home, home.state);
      const { content } = await window.call('here__echo', { text: 'x' });
      expect(JSON.stringify(content)).toContain('state directory of Holdfast');
    }
    await instanceEnded(home);
  });
});
