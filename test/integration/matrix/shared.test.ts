// Two clients of one server that they share, because it never asks anybody back: what belongs to the
// call of one comes to that one alone, even if both use the same ids and tokens, and what concerns
// everybody comes to both.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gateway, GatewayFolder } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import type { MatrixClient } from './client.ts';
import { connectSdk1 } from './client-sdk-1.ts';
import { connectSdk2 } from './client-sdk-2.ts';
import { type FixtureServer, serverKinds, startServer } from './fixture-server.ts';
import { RawClient } from './raw-client.ts';

const text = JSON.stringify;

describe.each(serverKinds.map((server) => [server.title, server] as const))(
  '%s that two clients share',
  (_title, server) => {
    let fixture: FixtureServer;
    let folder: GatewayFolder;
    let gateway: Gateway;

    beforeAll(async () => {
      fixture = await startServer(server);
      folder = await GatewayFolder.create();
      gateway = await folder.start({ mcpServers: { matrix: fixture.entry } });
    });
    afterAll(async () => {
      await gateway?.[Symbol.asyncDispose]();
      await fixture?.[Symbol.asyncDispose]();
      await folder?.[Symbol.asyncDispose]();
    });

    const door = () => ({ kind: 'http', url: gateway.url }) as const;
    const call = (client: MatrixClient, name: string, args: object) =>
      client.request('tools/call', { name: `matrix__${name}`, arguments: args });

    it.each([
      ['legacy', () => connectSdk1(door())],
      ['modern', () => connectSdk2(door(), 'modern')],
    ] as const)(
      'says what belongs to the call of a %s client to that client alone',
      async (_era, connect) => {
        await using one = await connect();
        await using other = await connectSdk2(door(), 'legacy');
        for (const client of [one, other]) {
          await client.setLogLevel('debug');
          await call(client, 'echo', {});
        }
        const tag = `log-${process.pid}-${++tags}`;
        const logging = call(one, 'log', { tag });
        const heard = (client: MatrixClient) =>
          client.conversation.notifications.filter(({ params }) =>
            String(params['data']).includes(tag),
          );
        await until(() => heard(one).length === 2, 'both lines are heard', 8_000);
        await fixture.probe.release(tag);
        await logging;
        expect(heard(other)).toEqual([]);
      },
    );

    it('keeps calls with the same ids and progress tokens apart', async () => {
      await using one = await RawClient.connect('legacy', door());
      await using other = await RawClient.connect('modern', door());
      await using third = await RawClient.connect('modern', door());
      const clients = [one, other, third];
      const calls = clients.map((client, at) => {
        const tag = `same-${process.pid}-${++tags}`;
        const args = { name: text('matrix__steps'), arguments: text({ tag }) };
        const steps = client.request(1, 'tools/call', args, { progressToken: 'same' });
        return { client, tag, steps, at };
      });
      const progressOf = (client: RawClient) =>
        client.heard.filter(({ message }) => message['method'] === 'notifications/progress');
      for (const { client, tag } of calls) {
        await until(() => progressOf(client).length === 2, 'its steps are heard', 8_000);
        await fixture.probe.release(tag);
      }
      for (const { steps } of calls) expect((await steps).text).toContain('"done"');
      for (const { client } of calls) expect(progressOf(client)).toHaveLength(2);
    });

    it('tells both that a list has changed, and shows both the new one', async () => {
      await using one = await connectSdk1(door());
      await using other = await connectSdk2(door(), 'modern');
      await using _watching = await other.watchLists();
      const name = `shared-${process.pid}-${++tags}`;
      await call(one, 'add', { list: 'tools', name });
      for (const client of [one, other]) {
        const changes = () =>
          client.conversation.notifications.filter(
            ({ method }) => method === 'notifications/tools/list_changed',
          );
        await until(() => changes().length > 0, 'the change is heard', 8_000);
        expect(await client.toolNames()).toContain(`matrix__${name}`);
      }
    });

    it('notifies only those who watch a resource that it was updated', async () => {
      await using one = await connectSdk1(door());
      await using other = await connectSdk2(door(), 'modern');
      await using third = await connectSdk2(door(), 'legacy');
      const uri = `memo://note/shared-${++tags}`;
      await using _first = await one.subscribe(uri);
      await using _second = await other.subscribe(uri);
      await call(third, 'touch', { uri });
      const updates = (client: MatrixClient) =>
        client.conversation.notifications.filter(({ params }) => params['uri'] === uri);
      await until(() => updates(one).length > 0 && updates(other).length > 0, 'both hear', 8_000);
      expect([one, other, third].map((client) => updates(client).length)).toEqual([1, 1, 0]);
    });
  },
);

let tags = 0;
