import { describe, expect, it } from 'vitest';
import { configSchema } from '../../config/schema.ts';
import { checkIsolation } from './isolation.ts';

describe('the check of servers that keep state', () => {
  it('says for each whether its clients share it, and nothing of others', () => {
    const browser = { command: 'npx', args: ['-y', '@playwright/mcp'] };
    const config = configSchema.parse({
      mcpServers: {
        own: browser,
        together: { ...browser, isolation: 'shared' },
        plain: { command: 'npx', args: ['mcp-fetch-server'] },
        remote: { url: 'https://example.com/@playwright/mcp' },
      },
    });
    expect(checkIsolation(config).map(({ subject, text }) => [subject, text])).toEqual([
      ['own', expect.stringContaining('a process of its own')],
      ['together', expect.stringContaining('clients share it (isolation: shared)')],
    ]);
  });
});
