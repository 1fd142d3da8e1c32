// Two gateways with one name at a broker and a database each: a call that comes to both would run twice. The second is
// refused, also while the first is away for a moment, and says what to do. With real processes on both brokers.

import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet, fleetBrokers } from '../support/fleet.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import type { Json } from '../support/gateway-stdio-client.ts';
import { Replicas } from '../support/replicas.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';

const config = { mcpServers: { own: faultyStdio() }, roles: { reader: { allow: ['own/*'] } } };

async function stateOf(home: GatewayHome): Promise<Json> {
  return JSON.parse((await home.run(['status', '--json'])).stdout).broker;
}

describe.each(['command', 'nats'] as const)(
  'a second gateway of the same name at the broker %s',
  (name) => {
    it('is refused if it has a store of its own, and the first goes on, also after a restart of both #broker-once', async () => {
      await using fleet = await Fleet.start(name, config);
      await until(
        async () => (await stateOf(fleet.home)).state === 'connected',
        'the first is there',
      );
      await using home = await GatewayHome.create(config);
      const file = home.file('credential');
      writeFileSync(file, fleet.broker.credential('boss'), { mode: 0o600 });
      const words = [
        '--listen',
        '127.0.0.1:0',
        '--json',
        '--broker',
        fleet.broker.url,
        '--as',
        'boss',
      ];
      const second = home.start(words, { HOLDFAST_TOKEN_FILE: file });
      await second.printed('\n');
      await until(async () => (await stateOf(home)).state === 'refused', 'the second is refused');
      expect((await stateOf(home)).lastError.text).toContain('give both the same "store"');
      await fleet.restartOrchestrator();
      await fleet.broker.restart();
      await until(async () => (await stateOf(fleet.home)).state === 'connected', 'it is back');
      const worker = await fleet.worker();
      const answer = await worker.call('own__echo', { text: 'hello' });
      expect(answer['content']).toEqual([{ type: 'text', text: 'hello' }]);
      expect((await stateOf(home)).links).toBe(0);
      await second.stop();
    }, 120_000);
  },
);

it('replicas of a gateway that share their store are all let in #replicas', async () => {
  await using broker = await fleetBrokers.command();
  const tokenFile = `${newFolder()}/boss.secret`;
  writeFileSync(tokenFile, broker.credential('boss'), { mode: 0o600 });
  const at = { url: broker.url, as: 'boss', tokenFile };
  await using replicas = await Replicas.start(2, { ...config, broker: at });
  for (const { home } of replicas.all) {
    await until(async () => (await stateOf(home)).state === 'connected', 'it is let in');
  }
}, 120_000);
