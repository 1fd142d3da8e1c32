// What the gateway hands out and wants back unchanged, the state of a multi-round request and the
// cursor of a list, is good for what it was given for, and for nothing else.

import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { underFire } from '../support/gateway-under-fire.ts';

const gate = underFire();

describe('a requestState', () => {
  const question = { message: 'who?', requestedSchema: { type: 'object', properties: {} } };
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };

  // A modern server has a state of its own, which is sealed; for a legacy one the call is parked.
  it.each(['shy', 'files'])(
    'of %s that was changed, cut or given for another call is refused; the true one is not #state-once',
    async (server) => {
      const args = { method: 'elicitation/create', params: question };
      const call = { name: `${server}__ask`, arguments: args, _meta };
      const { json } = await gate.client.modern('tools/call', call);
      expect(json.result.resultType).toBe('input_required');
      const { inputRequests, requestState: state } = json.result;
      const answer = { action: 'accept', content: { name: 'x' } };
      const inputResponses = Object.fromEntries(
        Object.keys(inputRequests).map((key) => [key, answer]),
      );
      const retry = async (changes: object) => {
        const params = { ...call, requestState: state, inputResponses, ...changes };
        return (await gate.client.modern('tools/call', params)).json;
      };
      const flipped = `${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}`;
      const forged = [flipped, `${state}=`, state.slice(1), `A${state}`, `${state} `, '', 7, null];
      for (const requestState of forged) {
        expect((await retry({ requestState })).error?.code, String(requestState)).toBe(-32_602);
      }
      expect((await retry({ name: 'docs__ask' })).error?.code).toBe(-32_602);
      expect((await retry({ arguments: { ...args, nonce: 'other' } })).error?.code).toBe(-32_602);
      const { result } = await retry({});
      expect(result.resultType).toBe('complete');
      expect(JSON.stringify(result.structuredContent)).toContain('"action":"accept"');
    },
  );
});

describe('a cursor', () => {
  it('of one list is none of another, nor of another gateway', async () => {
    const faults = [{ kind: 'many-tools', count: 1200, pageSize: 400 } as const];
    await using home = await GatewayHome.create({
      mcpServers: { many: faultyStdio({ faults }) },
    });
    const earlier: string[] = [];
    for (const start of ['cold', 'with a kept catalogue']) {
      await using served = await home.serve();
      using client = new HttpClient(served.url);
      const code = async (method: string, cursor: unknown, from = client) =>
        (await from.modern(method, { cursor })).json.error?.code;
      const { tools: first, nextCursor } = (await client.modern('tools/list')).json.result;
      const { tools: rest } = (await client.modern('tools/list', { cursor: nextCursor })).json
        .result;
      const names = [...first, ...rest].map(({ name }: { name: string }) => name);
      expect(new Set(names).size, start).toBe(1200 + 14 + 2);
      for (const method of ['prompts/list', 'resources/list', 'resources/templates/list']) {
        expect(await code(method, nextCursor), method).toBe(-32_602);
      }
      for (const cursor of [...earlier, `${nextCursor}A`, nextCursor.slice(1), '', 7]) {
        expect(await code('tools/list', cursor), String(cursor)).toBe(-32_602);
      }
      expect(await code('tools/list', nextCursor, gate.client)).toBe(-32_602);
      earlier.push(nextCursor);
    }
  });
});
