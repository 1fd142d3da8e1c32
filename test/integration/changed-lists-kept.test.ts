// A client that is not listening at the moment, at the command line's own gateway: however often a list
// changes meanwhile, one notification waits for it.

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient, modernRequest } from '../support/gateway-http-client.ts';

const watched = fileURLToPath(new URL('../fixtures/servers/watched/main.mjs', import.meta.url));
const changed = 'notifications/tools/list_changed';
const uri = 'note:///one';
const updated = 'notifications/resources/updated';

describe('a session whose stream is closed', () => {
  it('is notified once of a list that changed twenty times #slow-client', async () => {
    await using home = await GatewayHome.create();
    const notes = { command: process.execPath, args: [watched] };
    await home.configure({ mcpServers: { s: faultyStdio(), notes } });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    await client.call('s__echo', { text: 'started' });

    const session = await client.session();
    expect((await session.ask('resources/subscribe', { uri })).json.result).toEqual({});
    const wish = { notifications: { toolsListChanged: true } };
    const other = await client.open(modernRequest('subscriptions/listen', wish, 'listen'));
    expect((await other.message()).method).toBe('notifications/subscriptions/acknowledged');
    for (let n = 0; n < 20; n += 1) {
      const fault = { kind: 'new-tool', name: `tool_${n}` };
      await client.call('s__echo', { text: 'more', fault });
      // Who listens hears of each, so that they are not gathered into one before they are sent.
      expect((await other.message()).method).toBe(changed);
    }
    other.drop();

    const stream = await session.listen();
    await client.call('notes__touch');
    const heard: string[] = [];
    while (heard.at(-1) !== updated) heard.push((await stream.message()).method);
    stream.drop();
    expect(heard).toEqual([changed, updated]);
  });
});
