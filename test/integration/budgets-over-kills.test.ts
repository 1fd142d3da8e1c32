// What was spent of the budget of a role survives the gateway: after kill -9 never more than the limit is
// spent in all, and at most one block is lost; after an orderly end nothing is.

import { mkdirSync, renameSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { blockOf } from '../../src/policy/role-budgets/account.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';

async function homeWith(budget: object) {
  const home = await GatewayHome.create();
  await home.configure({
    mcpServers: { box: faultyStdio({}) },
    roles: { r: { allow: ['*'], budget } },
    local: { role: 'r' },
  });
  return home;
}

/** Calls until it is refused, at most so often; how many calls were answered. */
async function spend(served: Served, most: number): Promise<number> {
  using client = new HttpClient(served.url);
  for (let made = 0; made < most; made++) {
    const { result } = await client.call('box__echo', { text: 'a' });
    const fault = (result as { _meta?: Record<string, { code: string }> })._meta?.[
      'holdfast/fault'
    ];
    if (fault?.code === 'budget_exceeded') return made;
    expect(fault).toBeUndefined();
  }
  return most;
}

async function kill(served: Served): Promise<void> {
  process.kill(served.pid, 'SIGKILL');
  await served.ended;
}

describe('the budget of a role', () => {
  it('is not given again after kill -9: all lives together spend the limit less a block for each kill #budgets-kept #durable', async () => {
    const limit = 100;
    await using home = await homeWith({ calls: limit });
    let made = 0;
    for (const part of [7, 20, 1]) {
      const served = await home.serve();
      made += await spend(served, part);
      await kill(served);
    }
    expect(made).toBe(28);
    await using last = await home.serve();
    made += await spend(last, limit);
    expect(made).toBeLessThanOrEqual(limit);
    expect(made).toBeGreaterThanOrEqual(limit - 3 * blockOf('calls', limit));
  });

  it('goes on exactly after an orderly end #budgets-kept', async () => {
    await using home = await homeWith({ calls: 100 });
    const first = await home.serve();
    expect(await spend(first, 37)).toBe(37);
    await first.stop();
    await using second = await home.serve();
    expect(await spend(second, 100)).toBe(63);
  });

  it('is counted in memory if the database cannot be opened, and calls are served #disk-faults', async () => {
    await using home = await homeWith({ calls: 5 });
    const first = await home.serve();
    expect(await spend(first, 1)).toBe(1);
    await first.stop();
    const { database } = home.place;
    renameSync(database, `${database}.away`);
    mkdirSync(database);
    await using second = await home.serve();
    expect(await spend(second, 10)).toBe(5);
  });
});
