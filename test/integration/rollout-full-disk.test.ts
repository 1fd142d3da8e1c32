// Rollouts while the record of the running processes cannot be written, as on a full disk: on the disk it names a
// serving process that is gone, and nobody may take the servers that were handed over for those of a dead host.

import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { statusOf } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';

const childrenOf = async (home: GatewayHome): Promise<unknown[]> =>
  (await statusOf(home)).servers[0].children.map(({ pid }: { readonly pid: number }) => pid);

describe('rollouts on a full disk', () => {
  it('keep the servers, whoever looks for what dead hosts have left running #rollout', async () => {
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio() } });
    await using served = await home.serve();
    using client = new HttpClient(served.url);
    expect(await client.call('own__echo', { text: 'a' })).toHaveProperty('result');
    const records = join(home.state, 'instances');
    const [record = ''] = await readdir(records);
    await mkdir(join(records, `${record}.new`));
    const children = await childrenOf(home);
    for (const round of ['first', 'second']) {
      expect(await home.run(['rollout']), round).toMatchObject({ code: 0 });
      expect(await childrenOf(home), round).toEqual(children);
      expect(await client.call('own__echo', { text: round })).toHaveProperty('result');
    }
  });
});
