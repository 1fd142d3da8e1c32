// A worker whose credential is taken away while its calls run, on both brokers: its link ends, its calls are cancelled at
// the server of the orchestrator, and other workers notice nothing. And what one worker can take of a server.

import { describe, expect, it } from 'vitest';
import { changingBrokers } from '../support/changing-brokers.ts';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet, type Worker } from '../support/fleet.ts';
import { executions, readLedger } from '../support/ledger.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';

async function started(name: keyof typeof changingBrokers, more: object = {}) {
  const broker = await changingBrokers[name]('reader');
  const ledger = `${newFolder()}/ledger`;
  const fleet = await Fleet.start(broker, {
    mcpServers: { own: { ...faultyStdio({ ledger }), ...more } },
    roles: { reader: { allow: ['own/*'] } },
  });
  return { fleet, broker, ledger };
}

/** The calls that the server was told to end, as it has received it. */
async function cancellations(worker: Worker): Promise<number> {
  const said = { last: 99, method: 'notifications/cancelled' };
  const answer = await worker.call('own__received', said);
  return answer['structuredContent'].messages.length;
}

describe.each(['embedded', 'nats'] as const)('at the %s broker', (name) => {
  it('a revoked worker is let in no more, and its calls are cancelled where they run #revoked', async () => {
    const { fleet, broker, ledger } = await started(name);
    await using _fleet = fleet;
    const ann = await fleet.worker('ann');
    const bob = await fleet.worker('bob');
    await bob.call('own__echo', { text: 'started' });
    const running = [1, 2].map((at) => ann.call('own__slow', { ms: 600_000, nonce: `ann-${at}` }));
    for (const call of running) call.catch(() => {});
    const bobs = bob.call('own__slow', { ms: 3_000, nonce: 'bob' });
    await until(
      () => ['ann-1', 'ann-2', 'bob'].every((nonce) => executions(ledger, nonce) === 1),
      'all run',
    );
    expect(await cancellations(bob)).toBe(0);
    await broker.revoke('ann');
    await until(async () => (await cancellations(bob)) === 2, 'both are cancelled');
    for (const call of running) {
      const answer = await call.catch((error: unknown) => String(error));
      expect(answer).toMatchObject({
        _meta: {
          'holdfast/fault': { code: 'auth_required', retryable: false, dispatched: 'maybe' },
        },
        content: [{ text: expect.stringMatching(/credential.*may have run: check its effect/) }],
      });
    }
    expect(JSON.stringify(await bobs)).not.toContain('holdfast/fault');
    const refused = { code: 'auth_required', retryable: false, dispatched: 'no' };
    await expect(ann.call('own__echo', { text: 'again' })).resolves.toMatchObject({
      isError: true,
      _meta: { 'holdfast/fault': refused },
    });
    await expect(ann.client.listTools()).rejects.toMatchObject({ data: refused });
    const later = await fleet.worker('ann');
    await expect(later.client.listTools()).rejects.toMatchObject({ data: refused });
    await expect(later.call('own__echo', { text: 'later' })).resolves.toMatchObject({
      content: [{ text: expect.stringMatching(/who runs the broker can make another/) }],
      _meta: { 'holdfast/fault': refused },
    });
    expect(readLedger(ledger).filter(({ nonce }) => nonce === 'bob')).toHaveLength(3);
  }, 60_000);

  it('one worker has at most its share of the places of a server, and others are served at once #overload #fleet', async () => {
    const { fleet, ledger } = await started(name, { concurrency: 4, queue: 64 });
    await using _fleet = fleet;
    const ann = await fleet.worker('ann');
    const bob = await fleet.worker('bob');
    const nonces = Array.from({ length: 12 }, (_, at) => `ann-${at}`);
    const calls = nonces.map((nonce) => ann.call('own__slow', { ms: 2_000, nonce }));
    await until(() => nonces.filter((nonce) => executions(ledger, nonce) > 0).length >= 3, 'three');
    const answer = await bob.call('own__echo', { text: 'at once', nonce: 'bob' });
    expect(answer['content']).toEqual([{ type: 'text', text: 'at once' }]);
    await Promise.all(calls);
    let most = 0;
    let inside = 0;
    for (const { nonce, phase } of readLedger(ledger)) {
      if (!nonce?.startsWith('ann-')) continue;
      if (phase === 'begin') inside += 1;
      if (phase === 'done') inside -= 1;
      most = Math.max(most, inside);
    }
    expect(most).toBe(3);
  }, 60_000);
});
