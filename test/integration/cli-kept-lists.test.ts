// `tools` and `search` beside a gateway that has listed before: what it kept is shown with its age and
// nothing is started for it.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandLine } from '../support/command-line.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { startsIn, tinyServer } from '../support/gateway-tiny-server.ts';

const everything = dirname(
  createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json'),
);

/** What a client that can do all of this says to a gateway, up to its list of tools. */
function conversation(capabilities: object): string {
  const clientInfo = { name: 't', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo };
  return [
    { id: 1, method: 'initialize', params },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
  ]
    .map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    .join('');
}

describe('a tool that is offered only to clients with more capabilities', () => {
  it('is explained by tools and by call #classes #command-line', async () => {
    await using cli = await commandLine();
    const every = { command: 'node', args: [join(everything, 'dist', 'index.js')] };
    await cli.servers({ every });
    const stdin = conversation({ elicitation: {}, roots: {}, sampling: {} });
    const listed = await cli.run(['serve', '--stdio'], { stdin });
    const tool = 'every/trigger-elicitation-request';
    expect(listed.stdout).toContain('trigger-elicitation-request');

    const page = await cli.run(['tools', tool]);
    expect(page).toMatchObject({ code: 0, stderr: '' });
    expect(page.stdout).toContain(
      `listed to clients with elicitation, roots, sampling; the command line has none of these and may not be offered it; find out with: holdfast tools ${tool} --fresh`,
    );
    for (const words of [
      ['call', tool],
      ['tools', tool, '--fresh'],
    ]) {
      const { code, stdout, stderr } = await cli.run(words);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(
        /^holdfast: Unknown tool: every has no tool 'trigger-elicitation-request' for this client; it has listed it to clients with other capabilities, such as roots, sampling or elicitation(?:; did you mean [^?]+\?)? · next: holdfast tools\n$/,
      );
    }
    const other = await cli.run(['call', 'every/no-such-tool']);
    expect(other.stderr).toMatch(/every has no tool 'no-such-tool'; run: holdfast tools every\n$/);
  });
});

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
    expect(stderr).toContain(
      `stored earlier; read them again with: holdfast tools --config ${home.configFile} --fresh\n`,
    );
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
