// What only passes through: `_meta`, trace context, and methods and notifications that MCP does not
// define.

import { expect } from 'vitest';
import { until } from '../../../support/until.ts';
import type { Json } from '../client.ts';
import { callTool, type Feature } from '../feature.ts';
import { answering } from './asking.ts';

export const passingFeatures: readonly Feature[] = [
  {
    needs: 'sdk',
    name: 'passes _meta of its own there and back, whatever the method',
    exercise: async ({ client, named, tag, probe }) => {
      const ref = { type: 'ref/prompt', name: named('greet') };
      const requests: readonly [string, Json][] = [
        ['tools/call', { name: named('echo'), arguments: {} }],
        ['resources/read', { uri: `memo://note/${tag}` }],
        ['prompts/get', { name: named('plain') }],
        ['completion/complete', { ref, argument: { name: 'name', value: '' } }],
      ];
      for (const [method, params] of requests) {
        const own = { 'example.com/tag': tag, 'example.com/deep': { kept: [1, null, 'é'] } };
        const result = await client.request(method, { ...params, _meta: own });
        expect(result['_meta']).toMatchObject({ 'example.com/back': tag });
        const { meta } = await probe.saw('request', { tag, method });
        expect(meta).toMatchObject(own);
      }
    },
  },
  {
    needs: 'sdk',
    name: 'hands on the context of its trace',
    exercise: async ({ client, named, tag, probe }) => {
      const trace = '0af7651916cd43dd8448eb211c80319c';
      const _meta = {
        'example.com/tag': tag,
        traceparent: `00-${trace}-b7ad6b7169203331-01`,
        tracestate: 'vendor=1,other=2',
        baggage: 'user=ada',
      };
      await client.request('tools/call', { name: named('echo'), arguments: {}, _meta });
      const { meta } = await probe.saw('request', { tag });
      expect(meta).toMatchObject({ tracestate: 'vendor=1,other=2', baggage: 'user=ada' });
      expect((meta as Json)['traceparent']).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
    },
  },
  {
    needs: 'sdk',
    name: 'calls a method that MCP does not define',
    exercise: async ({ client, tag }) => {
      const result = await client.request('example.com/shout', {
        text: tag,
        deep: [1, { a: null }],
      });
      expect(result).toMatchObject({ text: tag.toUpperCase(), rest: { deep: [1, { a: null }] } });
    },
  },
  {
    needs: 'sdk',
    name: 'is told that a method is unknown',
    exercise: async ({ client }) => {
      const call = client.request('example.com/unheard', {});
      await expect(call.catch(codeOf)).resolves.toBe(-32601);
    },
  },
  {
    needs: 'sdk',
    name: 'sends a notification that MCP does not define',
    exercise: async ({ client, tag, probe }) => {
      await client.notify('notifications/example.com/nudge', { tag, deep: [1, null] });
      const seen = await probe.saw('notified', { tag });
      expect(seen).toMatchObject({ method: 'notifications/example.com/nudge', deep: [1, null] });
    },
  },
  {
    needs: 'sdk',
    name: 'gets a notification that MCP does not define',
    exercise: async (cell) => {
      const { client, tag, probe } = cell;
      const call = callTool(cell, 'nudge_back');
      const nudges = () =>
        client.conversation.notifications.filter(
          ({ method, params }) =>
            method === 'notifications/example.com/nudge' && params['tag'] === tag,
        );
      await until(() => nudges().length > 0, 'the nudge is heard', 8_000);
      await probe.release(tag);
      await call;
      expect(nudges()).toMatchObject([{ params: { deep: { kept: [1, null] } } }]);
    },
  },
  {
    needs: 'sdk',
    name: 'answers a request that MCP does not define',
    exercise: async (cell) => {
      const asked = answering(cell, ({ params }) => ({ answer: params['tag'] }));
      const { structuredContent } = await callTool(cell, 'ask_own');
      expect(structuredContent).toMatchObject({ answer: cell.tag });
      expect(asked).toMatchObject([{ method: 'example.com/ask' }]);
    },
  },
];

/**
 * The JSON-RPC code in an error of either SDK. Over modern HTTP an unknown method is also a status,
 * and the SDK gives the body as text.
 */
function codeOf(error: { code?: unknown; data?: { text?: string } }): unknown {
  if (typeof error.code === 'number') return error.code;
  return (JSON.parse(error.data?.text ?? '{}') as { error?: Json }).error?.['code'];
}
