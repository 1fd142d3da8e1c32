import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { tool } from '../../test/support/scripted-server.ts';

describe('what the gateway answers by itself', () => {
  it.each([
    ['tools/call', { name: 'nobody__t' }],
    ['prompts/get', { name: 'nobody__p' }],
    ['resources/read', { uri: 'nobody://here' }],
    ['vendor/unknown', {}],
  ])('is counted as an error if it is one: %s', async (method, params) => {
    const { modern, gateway } = newGateway({ s: { tools: [tool('t')] }, o: { tools: [] } });
    const reply = modern().request(method, params);
    await settled();
    expect(reply.answered.error).toBeDefined();
    expect(gateway.host.traffic.snapshot()).toMatchObject({
      requests: 1,
      successes: 0,
      responseErrors: 1,
      transportFaults: 0,
      lastFault: null,
    });
  });
});
