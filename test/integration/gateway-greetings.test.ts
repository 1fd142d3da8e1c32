// What a gateway has to find out about its servers before it can be of use, and what it keeps of it: a
// server that is slow to read the first question, and what a server says of itself in its greeting.

import { describe, expect, it } from 'vitest';
import { GatewayHome } from '../support/gateway-home.ts';
import { legacyHello, type StdioClient } from '../support/gateway-stdio-client.ts';
import { envelope } from '../support/http-front.ts';

/** Longer than a server may be silent before the older era is tried. */
const silentMs = 3_500;

/** Answers by method, with these results; everything else is an unknown method. It reads nothing before `silentMs`. */
const program = `
const [results, silentMs] = JSON.parse(process.argv[1]);
setTimeout(() => {
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const answer = Object.hasOwn(results, method)
      ? { result: results[method] }
      : { error: { code: -32601, message: 'no ' + method } };
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
  });
}, silentMs);
`;

const serverWith = (results: object, ms = 0) => ({
  command: process.execPath,
  args: ['-e', program, JSON.stringify([results, ms])],
});

const tools = [{ name: 'work', inputSchema: { type: 'object' } }];
const content = [{ type: 'text', text: 'done' }];
const about = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
const modernOnly = {
  'server/discover': { ...about, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
  'tools/list': { ...about, tools },
  'tools/call': { resultType: 'complete', content },
};
const instructions = 'Feed the limpets first.';
const legacyOnly = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 's', version: '1' },
    instructions,
  },
  'tools/list': { tools },
  'tools/call': { content },
};

async function called(client: StdioClient, era: 'legacy' | 'modern') {
  const params = { name: 's__work', arguments: {} };
  if (era === 'legacy') await client.initialize();
  const _meta = era === 'modern' ? { _meta: envelope } : {};
  return await client.ask('tools/call', { ...params, ..._meta }, 'call');
}

describe('a server that supports only the modern era and is slow to read', () => {
  it.each(['legacy', 'modern'] as const)('can be used by a %s client #eras', async (era) => {
    await using home = await GatewayHome.create({
      mcpServers: { s: serverWith(modernOnly, silentMs) },
    });
    await using client = home.stdio();
    expect((await called(client, era)).result).toMatchObject({ content });
  });
});

describe('the instructions and capabilities of a server', () => {
  it('are known to a later gateway before the server has run', async () => {
    await using home = await GatewayHome.create({ mcpServers: { s: serverWith(legacyOnly) } });
    const first = home.stdio();
    await called(first, 'legacy');
    await first.end();
    await using later = home.stdio();
    later.send(legacyHello(1));
    expect((await later.answer(1)).result.instructions).toContain(instructions);
  });
});
