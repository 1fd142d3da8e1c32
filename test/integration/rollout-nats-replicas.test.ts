// Replicas on one NATS server that are moved to another version one after the other, under load: no call fails or runs
// twice, sessions go on, a call that was begun before is answered.

import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import type { Json } from '../support/gateway-stdio-client.ts';
import { executions } from '../support/ledger.ts';
import { Replicas } from '../support/replicas.ts';
import { servingPids } from '../support/serving-process.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { steadyCalls } from '../support/steady-calls.ts';
import { until } from '../support/until.ts';

const adds = (nonce: string, ms?: number) => ({
  ...{ nonce, key: nonce, amount: 1 },
  ...(ms !== undefined && { fault: { kind: 'late', ms } }),
});

describe('replicas on one NATS server', () => {
  it('are rolled over one after the other under load #rollout #replicas', async () => {
    const ledger = `${newFolder()}/ledger`;
    await using replicas = await Replicas.start(2, {
      mcpServers: { own: faultyStdio({ ledger }) },
      roles: { all: { allow: ['*'] } },
    });
    const token = await replicas.token('all');
    using client = new HttpClient(replicas.proxy.url, { authorization: `Bearer ${token}` });
    const session = await client.session();
    await session.call('own__add', adds('first'));
    const loads = [
      steadyCalls('modern', (args) => client.call('own__add', args)),
      steadyCalls('session', (args) => session.call('own__add', args)),
    ];
    const begun: Promise<Json>[] = [];
    for (const [at, { home }] of replicas.all.entries()) {
      // Of both replicas, as the balancer takes turns.
      const nonces = [`begun-${at}-a`, `begun-${at}-b`];
      begun.push(client.call('own__add', adds(nonces[0] ?? '', 1_000)));
      begun.push((await client.session()).call('own__add', adds(nonces[1] ?? '', 1_000)));
      await until(() => nonces.every((nonce) => executions(ledger, nonce) === 1), 'they run');
      expect((await home.run(['rollout'])).stderr).toBe('');
    }
    for (const answer of await Promise.all(begun)) {
      expect(JSON.stringify(answer)).toContain('"value":1');
    }
    const made = (await Promise.all(loads.map(({ stop }) => stop()))).flat();
    expect(made.filter((nonce) => executions(ledger, nonce) !== 1)).toEqual([]);
    for (const { served } of replicas.all) {
      await until(async () => (await servingPids(served.pid)).length === 1, 'the former has ended');
    }
  }, 120_000);
});
