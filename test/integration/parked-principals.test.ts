// A call that is parked (a modern client, a legacy server that asks it back) over real HTTP: the state that its client
// got is worth nothing to another principal, to another token with the same role or on another path, and is still
// good for the one that it was given to.

import { describe, expect, it } from 'vitest';
import { localUser } from '../../src/policy/principal.ts';
import { newGateway } from '../support/fake-gateway.ts';
import { envelope, modernHeaders } from '../support/http-front.ts';
import { principalsFront } from '../support/principals-front.ts';
import { type Heard, type ScriptedChild, text, tool } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';

const roles = { reader: { allow: ['asker/*'] }, writer: { allow: ['asker/*'] } };

/** The token is the role, or the role and a number. */
const authenticator = {
  authenticate: ({ token = '' }: { readonly token?: string | undefined }) =>
    token === 'local'
      ? { principal: localUser }
      : { principal: { id: `token:${token}`, role: token.replace(/\d$/, '') } },
};

async function world() {
  const open: Heard[] = [];
  const asker = {
    era: 'legacy' as const,
    tools: [tool('t')],
    on: {
      'tools/call': (heard: Heard, child: ScriptedChild) => {
        open.push(heard);
        child.ask(`question-${open.length}`, 'roots/list');
        return undefined;
      },
    },
  };
  const made = newGateway({ asker }, { settings: { roles } });
  const { at } = await principalsFront(made, { authenticator });
  const call = async (path: string, token: string, more: object = {}) => {
    const name = path.includes('/s/') ? 't' : 'asker__t';
    const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { roots: {} } };
    const params = { name, arguments: {}, ...more, _meta: { ...envelope, ...capabilities } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const headers = modernHeaders('tools/call', name);
    let answer: string | undefined;
    const asked = at(path, token, { method: 'POST', body, headers }).then((one) => one.text());
    asked.then(
      (said) => {
        answer = said;
      },
      (error: unknown) => {
        answer = String(error);
      },
    );
    await until(async () => {
      await made.clock.advanceAsync(10);
      return answer !== undefined;
    }, 'an answer');
    return answer ?? '';
  };
  return { ...made, open, call };
}

describe('a parked call', () => {
  it('goes on for who has begun it, on its path, and for nobody else #state-once #roles-deny #path-takes-away', async () => {
    const { call, open, servers } = await world();
    const begun = JSON.parse(await call('/mcp', 'reader')) as {
      result: { resultType: string; requestState: string; inputRequests: Record<string, unknown> };
    };
    const { resultType, requestState, inputRequests } = begun.result;
    expect(resultType).toBe('input_required');
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests).map((key) => [key, { roots: [{ uri: 'file:///stolen' }] }]),
    );
    const again = { requestState, inputResponses };
    const before = servers.asker.children.flatMap(({ heard }) => heard).length;
    for (const [path, token] of [
      ['/mcp', 'writer'],
      ['/mcp', 'reader2'],
      ['/mcp', 'local'],
      ['/mcp/s/asker', 'reader'],
      ['/mcp/r/reader', 'reader'],
      ['/mcp/r/writer', 'reader'],
    ] as const) {
      const answer = await call(path, token, again);
      expect([path, token, JSON.parse(answer)]).toEqual([
        ...[path, token, expect.objectContaining({ error: expect.anything() })],
      ]);
    }
    const heard = servers.asker.children.flatMap((child) => child.heard).slice(before);
    expect(heard.filter(({ text: line }) => line.includes('stolen'))).toEqual([]);
    expect(open).toHaveLength(1);
    const [first] = open;
    const { child } = servers.asker;
    const ending = call('/mcp', 'reader', again);
    await until(() => child.heard.some(({ text: line }) => line.includes('stolen')), 'the roots');
    if (first !== undefined) child.answer(first, text('done'));
    expect(await ending).toContain('done');
  });
});
