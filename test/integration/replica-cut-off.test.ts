// A replica that is cut off from the NATS server for a while, with another one that is not: the session that the other
// has taken over meanwhile is let go by the first one when it is back, and its requests are passed on.

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { legacyHeaders } from '../support/http-front.ts';
import { newNamespace, startPlainNats } from '../support/nats-store-place.ts';
import { TcpRelay } from '../support/tcp-relay.ts';
import { until } from '../support/until.ts';

const key = randomBytes(32).toString('hex');

async function homeAt(store: string): Promise<GatewayHome> {
  const mcpServers = { old: faultyStdio({ era: 'legacy' }) };
  const roles = { all: { allow: ['*'] } };
  const home = await GatewayHome.create({ http: {}, mcpServers, store, roles });
  writeFileSync(home.file('holdfast.key'), `${key}\n`, { mode: 0o600 });
  return home;
}

describe('a replica that was cut off', () => {
  it('lets go of a session that another one has taken over, when it is back #replicas', async () => {
    await using nats = await startPlainNats();
    await using relay = await TcpRelay.to(nats.url);
    const namespace = newNamespace();
    await using home = await homeAt(`${relay.url}/${namespace}`);
    await using otherHome = await homeAt(`${nats.url}/${namespace}`);
    await using one = await home.serve();
    await using other = await otherHome.serve();
    const added = await otherHome.run(['token', 'add', '--role', 'all']);
    const bearer = { authorization: `Bearer ${added.stdout.trim()}` };
    const ask = (url: string, method: string, params: object, session?: string) =>
      fetch(url, {
        method: 'POST',
        headers: { ...legacyHeaders(session), ...bearer },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
    const protocolVersion = '2025-11-25';
    const clientInfo = { name: 'c', version: '1' };
    const setup = { protocolVersion, capabilities: {}, clientInfo };
    // The token is known when it is accepted.
    let session = '';
    await until(async () => {
      const { headers } = await ask(one.url, 'initialize', setup);
      session = headers.get('mcp-session-id') ?? '';
      return session !== '';
    }, 'the session to begin');
    const stream = await fetch(one.url, {
      headers: { ...legacyHeaders(session), ...bearer, accept: 'text/event-stream' },
    });
    expect(stream.status).toBe(200);
    relay.cut();
    const list = async (url: string) => {
      const answer = await ask(url, 'tools/list', {}, session);
      await answer.text();
      return answer.status;
    };
    await until(async () => (await list(other.url)) === 200, 'the other one to take it over');
    expect(await list(one.url)).toBe(200);
    relay.restore();
    // It ends by itself.
    await stream.text();
    expect(await list(one.url)).toBe(200);
    // It is passed on now: without the other one nobody has it until it is taken back.
    await other.stop();
    await until(async () => (await list(one.url)) === 200, 'it to be taken back');
  });
});
