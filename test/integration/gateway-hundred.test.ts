// A hundred configured servers cost nothing until they are used: neither listening nor a list from
// the kept catalogue starts any of them. How fast and how large it is then is measured, not asserted,
// in bench/startup.ts.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { startsIn, tinyServer } from '../support/gateway-tiny-server.ts';
import { until } from '../support/until.ts';

const count = 100;
const tools = 3;
const names = Array.from({ length: count }, (_, index) => `server-${index}`);

describe('with a hundred servers', () => {
  let home: GatewayHome;
  let starts: string;

  beforeAll(async () => {
    home = await GatewayHome.create();
    starts = home.file('starts');
    const server = tinyServer({ starts, tools });
    const mcpServers = Object.fromEntries(
      names.map((name) => [name, { ...server, env: { name } }]),
    );
    await home.configure({ mcpServers, maxIdle: count });
  });

  afterAll(() => home[Symbol.asyncDispose]());

  const listed = async (client: HttpClient) =>
    (await client.modern('tools/list')).json.result.tools.map(({ name }: { name: string }) => name);

  it('the first list asks each of them once, and has them all', async () => {
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    expect(startsIn(starts), 'listening starts nothing').toBe(0);
    // On a slow machine not all of them come within the time that a first list waits.
    await until(
      async () => (await listed(client)).length === count * tools + 2,
      'the whole list',
      50_000,
    );
    expect(startsIn(starts)).toBe(count);
  });

  it('no other start and no other list starts any, and the list is the same #lazy #merged-lists', async () => {
    const before = startsIn(starts);
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    const session = await client.session();
    const expected = names.flatMap((name) =>
      Array.from({ length: tools }, (_, index) => `${name}__tool_${index + 1}`),
    );
    const own = ['holdfast__health_snapshot', 'holdfast__telemetry_snapshot'];
    const modern = await listed(client);
    expect(modern).toHaveLength(count * tools + 2);
    expect(new Set(modern)).toEqual(new Set([...expected, ...own]));
    const legacy = (await session.ask('tools/list')).json.result.tools;
    expect(legacy.map(({ name }: { name: string }) => name)).toEqual(modern);
    const { result } = await client.call('holdfast__health_snapshot', { render: 'json' });
    expect(result.structuredContent.servers).toMatchObject({ idle: count, ready: 0, starting: 0 });
    expect(startsIn(starts)).toBe(before);
    // And the one that is called is the one that is started.
    const called = await client.call('server-42__tool_1');
    expect(called.result.content).toEqual([{ type: 'text', text: 'done' }]);
    expect(startsIn(starts)).toBe(before + 1);
  });
});
