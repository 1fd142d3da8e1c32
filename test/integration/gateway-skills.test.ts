// Skills (SEP-2640) through the gateway, with the official SDK on both sides: its server publishes them
// with digests, its client checks every file. Two servers have a skill of the same address.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { describe, expect, it } from 'vitest';
import { GatewayHome } from '../support/gateway-home.ts';

const program = new URL('../fixtures/servers/skills/main.mjs', import.meta.url).pathname;
const server = (...skills: string[]) => ({ command: process.execPath, args: [program, ...skills] });

const modes = { modern: { pin: '2026-07-28' }, legacy: 'legacy' } as const;
type Mode = keyof typeof modes;

async function connect(url: string, mode: Mode) {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: modes[mode] } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return {
    client,
    skills: new SkillsClient(client),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

describe.each<Mode>(['modern', 'legacy'])('skills of several servers for a %s client', (mode) => {
  it('are one list, and every file of each is whole #skills', async () => {
    await using home = await GatewayHome.create({
      mcpServers: {
        first: server('pdf-forms=first', 'one'),
        second: server('two', 'pdf-forms=second', 'three'),
        without: { command: '/bin/false' },
      },
    });
    await using served = await home.serve();
    await using connected = await connect(served.url, mode);
    const { skills } = connected;
    expect(skills.supported, 'declared before any server has run').toBe(true);
    const { skills: entries } = await skills.list();
    expect(entries.map(({ uri }) => uri)).toEqual([
      'skill://one/SKILL.md',
      'skill://pdf-forms/SKILL.md',
      'skill://holdfast+second/pdf-forms/SKILL.md',
      'skill://three/SKILL.md',
      'skill://two/SKILL.md',
    ]);
    const texts = new Map<string, string | undefined>();
    for (const entry of entries) {
      const { skill } = await skills.get(entry.uri);
      expect(skill).toEqual(entry);
      expect(entry.frontmatter['metadata']).toEqual({ uri: 'skill://not/an/address' });
      const files = entry.resources === 'dynamic' ? [] : entry.resources;
      for (const { uri } of files) {
        const file = await skills.read(entry, uri);
        expect(file.verified, uri).toBe(true);
        texts.set(uri, file.text);
      }
      const folder = entry.uri.slice(0, -'/SKILL.md'.length);
      const { resources } = await skills.readDirectory(folder);
      expect(resources.map(({ uri }) => uri)).toContain(entry.uri);
    }
    // Each from its own server, also the files that only one of the two has.
    expect([
      texts.get('skill://pdf-forms/only-first.md'),
      texts.get('skill://holdfast+second/pdf-forms/only-second.md'),
    ]).toEqual(['first\n', 'second\n']);
    await expect(skills.get('skill://nothing/SKILL.md')).rejects.toMatchObject({ code: -32602 });
  });

  it('are listed and declared after a restart, without starting a server #skills #lazy', async () => {
    await using home = await GatewayHome.create({ mcpServers: { only: server('one') } });
    for (const run of ['first', 'second']) {
      await using served = await home.serve();
      await using connected = await connect(served.url, mode);
      const { client, skills } = connected;
      expect([skills.supported, skills.directoryRead]).toEqual([true, true]);
      expect((await skills.list()).skills).toHaveLength(1);
      const health = { name: 'holdfast__health_snapshot', arguments: { render: 'json' } };
      const { structuredContent } = await client.callTool(health);
      const isStarted = run === 'first' ? 1 : 0;
      expect(structuredContent).toMatchObject({ servers: { ready: isStarted } });
    }
  });
});
