// Many processes with one config and one state directory at the same time: gateways on stdio and commands,
// beside a running instance and without one. None fails, and nothing that they keep is damaged.

import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';

describe('ten gateways on stdio and ten commands at once', () => {
  it.each([true, false])(
    'all work; an instance runs: %j #one-instance #durable',
    async (hasInstance) => {
      await using home = await GatewayHome.create();
      const ledger = home.file('ledger');
      await home.configure({ mcpServers: { bank: faultyStdio({ ledger }) } });
      const instance = hasInstance ? await home.serve() : undefined;
      const gateways = Array.from({ length: 10 }, async (_, number) => {
        await using client = home.stdio();
        await client.initialize();
        const args = { text: `stdio ${number}` };
        const { result } = await client.ask('tools/call', { name: 'bank__echo', arguments: args });
        return JSON.stringify(result).includes(`stdio ${number}`);
      });
      const commands = Array.from({ length: 10 }, async (_, number) => {
        const { code, stdout, stderr } = await home.run([
          'call',
          'bank/echo',
          `text=call ${number}`,
        ]);
        return code === 0 && stdout.includes(`call ${number}`) ? true : `${code} ${stderr}`;
      });
      expect(await Promise.all([...gateways, ...commands])).toEqual(Array(20).fill(true));
      const { code, stdout } = await home.run(['status', '--json']);
      expect(code).toBe(0);
      expect(JSON.parse(stdout).disk).toMatchObject({ ok: true });
      if (instance) expect((await instance.stop()).code).toBe(0);
    },
  );
});
