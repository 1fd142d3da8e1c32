// `doctor` sees what all servers list together: a tool that clients do not get is a finding.

import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { commandLine } from '../support/command-line.ts';
import { tinyServer } from '../support/gateway-tiny-server.ts';

describe('doctor', () => {
  it('finds tools that are not offered because another server has their name #name-owner #command-line', async () => {
    await using cli = await commandLine();
    const starts = cli.file('starts');
    const mcpServers = {
      first: tinyServer({ starts, tools: 1 }),
      second: tinyServer({ starts, tools: 2 }),
    };
    const config = { mcpServers, naming: 'transparent' };
    await writeFile(cli.file('holdfast.json'), JSON.stringify(config), { mode: 0o600 });
    const { code, stdout } = await cli.run(['doctor', '--json']);
    expect(code).toBe(1);
    const findings = JSON.parse(stdout).checks.filter(
      ({ kind }: { kind: string }) => kind === 'finding',
    );
    expect(findings).toEqual([
      {
        kind: 'finding',
        subject: 'second',
        text: 'tool "tool_1" is not offered: the name "tool_1" belongs to first',
        remedy: 'give it another name in the config: mcpServers.second.tools["tool_1"].as',
      },
    ]);
  });
});
