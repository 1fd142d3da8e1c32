// `tools` and `search` beside a gateway that has listed before: what it kept is shown with its age and
// nothing is started for it.

import { describe, expect, it } from 'vitest';
import { commandLine } from '../support/command-line.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { startsIn, tinyServer } from '../support/gateway-tiny-server.ts';

describe('what a gateway has kept', () => {
  it('is shown by tools and search with its age, and starts nothing #first-list #command-line', async () => {
    await using home = await GatewayHome.create();
    await using cli = await commandLine();
    const run = (...args: string[]) =>
      cli.run([...args, '--config', home.configFile], { env: { HOLDFAST_STATE: home.state } });
    const [starts, others] = [home.file('starts'), home.file('others')];
    const tiny = tinyServer({ starts });
    await home.configure({ mcpServers: { tiny } });
    await (async () => {
      await using served = await home.serve();
      using client = new HttpClient(served.url);
      await client.modern('tools/list');
    })();
    expect(startsIn(starts)).toBe(1);

    const unknown = tinyServer({ starts: others, tools: 1 });
    await home.configure({ mcpServers: { tiny, unknown } });
    const { code, stdout, stderr } = await run('tools');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^tiny\/tool_1 +listed \S.* +Does nothing, in way 1\.$/m);
    expect(stdout).toMatch(/^unknown\/tool_1 +Does nothing, in way 1\.$/m);
    expect(stderr).toMatch(/stored earlier; read them again with: holdfast tools --fresh\n$/);
    const found = await run('search', 'way 2');
    expect(found.stdout).toMatch(/^tiny\/tool_2 +listed /m);
    const one = JSON.parse((await run('tools', 'tiny/tool_2', '--json')).stdout);
    expect(one).toMatchObject({ server: 'tiny', kept: { listedAt: expect.any(Number) } });
    expect(startsIn(starts), 'nothing was started for it').toBe(1);

    const read = JSON.parse((await run('tools', 'tiny', '--fresh', '--json')).stdout);
    expect(read.tools[0]).not.toHaveProperty('kept');
    expect(startsIn(starts)).toBe(2);
    expect((await run('tools', 'tiny/no_such_tool')).code).toBe(2);
  });
});
