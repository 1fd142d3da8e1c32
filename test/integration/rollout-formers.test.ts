// More rollouts than former processes may be there: the next one waits until one of them has ended.

import { describe, expect, it } from 'vitest';
import { faultyStdio, temporaryFolder } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { executions } from '../support/ledger.ts';
import { servingPids } from '../support/serving-process.ts';
import { until } from '../support/until.ts';

/** Of the holder. */
const maxFormers = 4;

describe('a rollout while four former processes end their work', () => {
  it('waits until one of them has ended #rollout', async () => {
    await using folder = await temporaryFolder();
    const ledger = folder.file('ledger');
    await using home = await GatewayHome.create({ mcpServers: { own: faultyStdio({ ledger }) } });
    await using served = await home.serve();
    const clients: HttpClient[] = [];
    for (let number = 0; number < maxFormers; number += 1) {
      const client = new HttpClient(served.url);
      clients.push(client);
      const nonce = `held ${number}`;
      client.call('own__slow', { nonce, ms: 600_000 }).catch(() => {});
      await until(() => executions(ledger, nonce) === 1, nonce);
      expect(await home.run(['rollout']), nonce).toMatchObject({ code: 0 });
    }
    let isOver = false;
    const fifth = home.run(['rollout']).finally(() => {
      isOver = true;
    });
    const isPending = async () =>
      (await home.run(['status', '--json'])).stdout.includes('"pending"');
    await until(async () => isOver || (await isPending()), 'the fifth waits');
    expect(isOver).toBe(false);
    clients[0]?.[Symbol.dispose]();
    expect(await fifth).toMatchObject({ code: 0 });
    for (const client of clients) client[Symbol.dispose]();
    await until(async () => (await servingPids(served.pid)).length === 1, 'the former ones end');
  });
});
