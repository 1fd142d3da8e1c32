// Variables that can make a program run other code, from the config file to the real process: a
// server that sets one is disabled with the cause and never started, the others run; with `allowEnv`
// the process gets it.

import { describe, expect, it } from 'vitest';
import { commandLine } from '../support/command-line.ts';
import { faultyStdio } from '../support/faulty.ts';

describe('a variable that can make programs run other code', () => {
  it.each(['holdfast.json', 'claude.json'])(
    'reaches a process only if its entry in %s allows it #least-environment',
    async (file) => {
      await using cli = await commandLine();
      const env = { NODE_OPTIONS: '--max-http-header-size=20011' };
      await cli.servers(
        {
          refused: { ...faultyStdio(), env },
          plain: { ...faultyStdio(), inheritEnv: ['NODE_*'] },
        },
        file,
      );
      const at = ['--config', file];
      const surroundings = { env: { ...env, NODE_FRIENDLY: 'yes' } };
      const refused = await cli.run(['call', 'refused/echo', 'text=hi', ...at]);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain('mcpServers.refused.env.NODE_OPTIONS names "NODE_OPTIONS"');
      expect(refused.stderr).not.toContain('20011');
      const status = JSON.parse((await cli.run(['status', '--json', ...at])).stdout);
      expect(status.servers).toMatchObject([
        { name: 'plain', state: 'idle' },
        { name: 'refused', state: 'disabled', cause: expect.stringContaining('allowEnv') },
      ]);
      const asked = ['valuesOf=["NODE_OPTIONS","NODE_FRIENDLY"]', '--json', ...at];
      const seen = await cli.run(['call', 'plain/whoami', ...asked], surroundings);
      const { values } = JSON.parse(seen.stdout).structuredContent;
      expect(values).toEqual({ NODE_OPTIONS: null, NODE_FRIENDLY: 'yes' });
      await cli.servers({ allowed: { ...faultyStdio(), env, allowEnv: ['NODE_OPTIONS'] } }, file);
      const allowed = await cli.run(['call', 'allowed/whoami', ...asked]);
      expect(JSON.parse(allowed.stdout).structuredContent.values).toEqual({
        NODE_OPTIONS: env.NODE_OPTIONS,
        NODE_FRIENDLY: null,
      });
    },
  );
});
