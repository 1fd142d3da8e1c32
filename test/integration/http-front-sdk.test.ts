// The official clients as peers of the front: the 1.x SDK and the v2 SDK in both eras.

import {
  Client as ModernClient,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Asked } from '../support/fake-front.ts';
import { note, result } from '../support/fake-front.ts';
import { httpFront } from '../support/http-front.ts';
import { until } from '../support/until.ts';

/** A server with one tool, which tells its progress before it answers. */
function serve({ message, method, reply }: Asked): void {
  const { params } = JSON.parse(message.bytes.toString());
  const stamp = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  if (method === 'server/discover') {
    const discovery = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
    return reply.answer(result(message.id, { ...stamp, ...discovery }));
  }
  if (method === 'tools/list') {
    const tools = [{ name: 'echo', inputSchema: { type: 'object' } }];
    return reply.answer(result(message.id, { ...stamp, tools }));
  }
  const progressToken = params._meta?.progressToken;
  if (progressToken !== undefined) {
    reply.send(note('notifications/progress', { progressToken, progress: 1, total: 2 }));
  }
  const content = [{ type: 'text', text: String(params.arguments?.text) }];
  setImmediate(() => reply.answer(result(message.id, { resultType: 'complete', content })));
}

describe('the client of the SDK 1.x', () => {
  it('opens a session, calls, gets unsolicited messages, and ends it', async () => {
    const gate = await httpFront();
    gate.front.onAsked = serve;
    const client = new Client({ name: 'old', version: '1' });
    const transport = new OldTransport(new URL(gate.http.url));
    onTestFinished(() => client.close());
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes += 1;
    });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    expect(transport.sessionId).toBeDefined();
    const progress: unknown[] = [];
    const answer = await client.callTool({ name: 'echo', arguments: { text: 'hi' } }, undefined, {
      onprogress: (one) => progress.push(one),
    });
    expect(answer['content']).toEqual([{ type: 'text', text: 'hi' }]);
    expect(progress).toHaveLength(1);
    gate.front.session.outlet.send(note('notifications/tools/list_changed'));
    await until(() => changes === 1, 'the notification');
    await transport.terminateSession();
    expect(gate.front.session.isClosed).toBe(true);
  });
});

describe('the client of the SDK v2', () => {
  it.each(['legacy', 'auto', { pin: '2026-07-28' }] as const)(
    'calls in the mode %j',
    async (mode) => {
      const gate = await httpFront();
      gate.front.onAsked = serve;
      const client = new ModernClient(
        { name: 'new', version: '1' },
        { versionNegotiation: { mode } },
      );
      onTestFinished(() => client.close());
      await client.connect(new StreamableHTTPClientTransport(new URL(gate.http.url)));
      expect(client.getProtocolEra()).toBe(mode === 'legacy' ? 'legacy' : 'modern');
      const progress: unknown[] = [];
      const answer = await client.callTool(
        { name: 'echo', arguments: { text: 'hi é' } },
        { onprogress: (one) => progress.push(one) },
      );
      expect(answer.content).toEqual([{ type: 'text', text: 'hi é' }]);
      expect(progress).toHaveLength(1);
      expect(gate.reports).toEqual([]);
    },
  );
});
