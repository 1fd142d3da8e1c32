// A thousand principals, each with a token of its own, that come over HTTP and never come back. The
// real front and the real gateway, on a clock that the test moves, in front of scripted servers.

import { describe, expect, it } from 'vitest';
import { clientIdleMs } from '../../src/downstream/clients/modern-clients.ts';
import type { Authentication, Credential } from '../../src/downstream/http/access/authenticator.ts';
import { newGateway } from '../support/fake-gateway.ts';
import { LeanSocket, leanPost } from '../support/gateway-lean-socket.ts';
import { legacyHeaders, modernBody, modernHeaders } from '../support/http-front.ts';
import { settled } from '../support/manual-clock.ts';
import { principalsFront } from '../support/principals-front.ts';
import { text, tool } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';

const principals = 1_000;
const sockets = 8;
const echo = { tools: [tool('t')], on: { 'tools/call': () => text('done') } };

/** Knows who it is a turn later, as one does that asks another service. */
const authenticator = {
  async authenticate({ token }: Credential): Promise<Authentication> {
    await settled();
    return { principal: { id: `jwt:${token}`, role: null } };
  },
};

async function world() {
  const config = { own: { isolation: 'client' } };
  const made = newGateway({ shared: echo, own: echo }, { config });
  const { gateway, host, clock } = made;
  host.setGuard(() => ({ allow: true }));
  const { port } = await principalsFront(made, { authenticator });
  return { gateway, host, clock, port };
}

const rpc = (method: string, params: object, id = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });
const hello = rpc('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'c', version: '1' },
});

/** One principal: a list, a call and a session with a call in it; then it is never heard of again. */
async function visit(socket: LeanSocket, number: number): Promise<void> {
  const authorization = `Bearer token-${number}`;
  const modern = async (method: string, params: { name?: string }) => {
    const body = JSON.stringify(modernBody(method, params));
    const headers = { ...modernHeaders(method, params.name), authorization };
    return String((await socket.send(leanPost(body, headers))).body);
  };
  const name = number % 10 === 0 ? 'own__t' : 'shared__t';
  expect(await modern('tools/list', {})).toContain('own__t');
  expect(await modern('tools/call', { name })).toContain('done');
  const { head } = await socket.send(leanPost(hello, { ...legacyHeaders(), authorization }));
  const session = /\r\nmcp-session-id: *([^\r]+)/i.exec(head)?.[1] ?? '';
  const headers = { ...legacyHeaders(session), authorization };
  const called = await socket.send(leanPost(rpc('tools/call', { name, arguments: {} }), headers));
  expect(String(called.body)).toContain('done');
}

describe('principals that come over HTTP by the thousand', () => {
  it('leave nothing when they have been idle #no-growth', async () => {
    const { gateway, host, clock, port } = await world();
    const before = gateway.kept;
    let next = 0;
    const lane = async () => {
      const socket = await LeanSocket.open(port);
      while (next < principals) await visit(socket, next++);
      socket.close();
    };
    await Promise.all(Array.from({ length: sockets }, lane));
    const during = gateway.kept;
    expect(during).toMatchObject({ sessions: principals, clients: 256, requests: 0 });
    expect(during['composed']).toBeLessThanOrEqual(64);
    await clock.advanceAsync(2 * clientIdleMs);
    await until(
      () => [...host.find('own').slots.all()].length === 1,
      'the connections of each to end',
    );
    expect(gateway.kept).toEqual(before);
    for (const { slots, admission, supervisor } of host.servers()) {
      expect([...slots.all()].length).toBe(1);
      expect([admission.inside, admission.queued, supervisor.leases.held]).toEqual([0, 0, 0]);
    }
    expect([host.tasks.ofClient('jwt:token-1'), host.parts.keys.running]).toEqual([[], 0]);
  });
});
