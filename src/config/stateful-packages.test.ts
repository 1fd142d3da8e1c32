import { describe, expect, it } from 'vitest';
import { configSchema } from './schema.ts';
import { statefulPackageIn, statefulPackages } from './stateful-packages.ts';

const isolationOf = (entry: object) =>
  configSchema.parse({ mcpServers: { it: entry } }).mcpServers['it']?.isolation;

describe('servers that keep state for one client', () => {
  it.each([
    ['npx', ['-y', '@playwright/mcp@latest', '--headless'], '@playwright/mcp'],
    ['npx', ['chrome-devtools-mcp'], 'chrome-devtools-mcp'],
    ['chrome-devtools-mcp', [], 'chrome-devtools-mcp'],
    ['node', ['/x/node_modules/@playwright/mcp/cli.js'], '@playwright/mcp'],
    ['npx', ['-y', '@modelcontextprotocol/server-filesystem', '@playwright'], undefined],
    ['npx', ['not-chrome-devtools-mcp', 7, null, ''], undefined],
  ])('are recognised by their package: %s %j', (command, args, found) => {
    expect(statefulPackageIn(command, args)).toBe(found);
  });

  it('get a process for each client, unless the config says otherwise', () => {
    for (const name of statefulPackages) {
      const entry = { command: 'npx', args: ['-y', name] };
      expect(isolationOf(entry)).toBe('client');
      expect(isolationOf({ ...entry, isolation: 'shared' })).toBe('shared');
      expect(isolationOf({ ...entry, isolation: 'auto' })).toBe('auto');
    }
    expect(isolationOf({ command: 'npx', args: ['mcp-fetch-server'] })).toBe('auto');
  });
});
