// Lists of all servers together, when some of them are slow, dead or wrong: the others are there, in
// time; what was known stays known; and who was answered without a server hears when it comes.

import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type FaultyCommand, faultyStdio, writeControl } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient, modernRequest } from '../support/gateway-http-client.ts';
import type { Json } from '../support/gateway-stdio-client.ts';
import { startsIn, tinyServer } from '../support/gateway-tiny-server.ts';
import { until } from '../support/until.ts';

const namesOf = ({ json }: Json): string[] =>
  json.result.tools.map(({ name }: { name: string }) => name);
const ofServer = (names: readonly string[], server: string) =>
  names.filter((name) => name.startsWith(`${server}__`));

/** The same server, which begins when somebody writes into the pipe of this name. */
function gated(pipe: string, { command, args }: FaultyCommand): FaultyCommand {
  execFileSync('mkfifo', [pipe]);
  const script = 'read -r go < "$0"; exec "$@"';
  return { command: '/bin/sh', args: ['-c', script, pipe, command, ...args] };
}

/** Both eras' ways to hear of a change. */
async function listeners(client: HttpClient) {
  const session = await client.session();
  const legacy = await session.listen();
  const wish = { notifications: { toolsListChanged: true } };
  const modern = await client.open(modernRequest('subscriptions/listen', wish, 'listen'));
  expect((await modern.message()).method).toBe('notifications/subscriptions/acknowledged');
  const hear = async () => {
    const heard = await Promise.all([legacy.message(), modern.message()]);
    expect(heard.map(({ method }) => method)).toEqual(
      Array(2).fill('notifications/tools/list_changed'),
    );
  };
  const drop = () => {
    for (const stream of [legacy, modern]) stream.drop();
  };
  return { hear, [Symbol.dispose]: drop };
}

describe('a list', () => {
  it('waits listWaitMs at most for servers that hang, and only once; who comes later is news #merged-lists', async () => {
    await using home = await GatewayHome.create();
    const [starts, gate] = [home.file('late'), home.file('gate')];
    const broken = { kind: 'changed-definition', of: 'add', change: { inputSchema: 7 } } as const;
    await home.configure({
      listWaitMs: 4_000,
      mcpServers: {
        dead: { command: '/bin/false' },
        mute: faultyStdio({ faults: [{ kind: 'hang', when: 'at-list' }] }),
        good: faultyStdio({ era: 'legacy' }),
        strange: faultyStdio({ faults: [broken] }),
        frozen: faultyStdio({ faults: [{ kind: 'hang', when: 'at-start' }] }),
        late: gated(gate, faultyStdio({ starts, era: 'modern' })),
      },
    });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    using listening = await listeners(client);
    // If each of them waited again, their time would be more than this test has.
    for (let list = 0; list < 20; list += 1) {
      const names = namesOf(await client.modern('tools/list'));
      expect(ofServer(names, 'good')).toHaveLength(14);
      // One invalid schema hides that tool only.
      expect(ofServer(names, 'strange')).toHaveLength(13);
      expect(names).not.toContain('strange__add');
      for (const gone of ['dead', 'mute', 'frozen', 'late']) {
        expect(ofServer(names, gone), gone).toEqual([]);
      }
    }
    const heard = listening.hear();
    await writeFile(gate, 'go\n');
    await heard;
    expect(ofServer(namesOf(await client.modern('tools/list')), 'late')).toHaveLength(14);
    expect(startsIn(starts)).toBe(1);
  });

  it('has a server that comes up late as soon as somebody asks again, and tells the others', async () => {
    await using home = await GatewayHome.create();
    const [gate, starts] = [home.file('gate'), home.file('starts')];
    await home.configure({
      mcpServers: { late: tinyServer({ gate, starts }), good: tinyServer({ starts }) },
    });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    using listening = await listeners(client);
    const names = async () => namesOf(await client.modern('tools/list'));
    expect(ofServer(await names(), 'late')).toEqual([]);
    await writeFile(gate, '');
    const heard = listening.hear();
    await until(async () => ofServer(await names(), 'late').length === 2, 'the late one to come');
    await heard;
    expect(ofServer(await names(), 'good')).toHaveLength(2);
  });

  it('is what was last known of a server that is broken now, and needs no process #lazy #merged-lists', async () => {
    await using home = await GatewayHome.create();
    const [starts, control] = [home.file('starts'), home.file('control.json')];
    await writeControl(control, []);
    await home.configure({
      mcpServers: { flaky: faultyStdio({ starts, control }), good: faultyStdio({ starts }) },
    });
    const whole = async (client: HttpClient) => namesOf(await client.modern('tools/list'));
    const before = await (async () => {
      await using served = await home.serve();
      using client = new HttpClient(served.url);
      return await whole(client);
    })();
    expect(before).toHaveLength(14 + 14 + 2);
    expect(startsIn(starts)).toBe(2);
    await writeControl(control, [{ kind: 'crash-before-effect', when: 'at-start' }]);

    await using served = await home.serve();
    using client = new HttpClient(served.url);
    expect(await whole(client)).toEqual(before);
    expect(startsIn(starts), 'nothing was started').toBe(2);
    // For a client of the other era nothing is kept yet: it is shown the same until its own is read.
    const session = await client.session();
    expect(namesOf(await session.ask('tools/list'))).toEqual(before);
    const { result } = await client.call('flaky__echo');
    expect(result.isError).toBe(true);
    expect(result._meta['holdfast/fault']).toMatchObject({ code: 'unavailable', server: 'flaky' });
    expect(await whole(client)).toEqual(before);
    await writeControl(control, []);
    await until(async () => {
      const again = await client.call('flaky__echo', { text: 'back' });
      return again.result.structuredContent?.text === 'back';
    }, 'the server to be back');
    expect(await whole(client)).toEqual(before);
  });

  it('that has changed is notified to all clients, and read again #list-news', async () => {
    await using home = await GatewayHome.create({ mcpServers: { good: faultyStdio() } });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    await client.modern('tools/list');
    using listening = await listeners(client);
    const change = { description: 'Something else.' };
    const fault = { kind: 'changed-definition', of: 'slow', announce: true, change };
    await client.call('good__echo', { fault });
    await listening.hear();
    const { json } = await client.modern('tools/list');
    const slow = json.result.tools.find(({ name }: { name: string }) => name === 'good__slow');
    expect(slow.description).toBe('Something else.');
  });

  it('that changes in the first call of a server is notified, too #list-news', async () => {
    await using home = await GatewayHome.create({ mcpServers: { good: faultyStdio() } });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    using listening = await listeners(client);
    const change = { description: 'Something else.' };
    const fault = { kind: 'changed-definition', of: 'slow', announce: true, change };
    const { result } = await client.call('good__echo', { text: 'first', fault });
    expect(result.structuredContent).toMatchObject({ text: 'first' });
    await listening.hear();
  });
});
