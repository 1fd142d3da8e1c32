// An orchestrator whose database cannot be used: it could not know after a crash which calls have run. Calls of workers
// that must not run twice are refused before they run, although other clients are served from memory.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet } from '../support/fleet.ts';
import type { GatewayHome } from '../support/gateway-home.ts';
import { executions } from '../support/ledger.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';

/** There is no data, and there can be none. */
function withoutDatabase({ place }: GatewayHome): void {
  mkdirSync(place.folder, { recursive: true, mode: 0o700 });
  symlinkSync('elsewhere', join(place.folder, 'state.db-wal'));
}

it('an orchestrator that cannot use its database runs no call of a worker that must not run twice, and status says why #broker-once', async () => {
  const ledger = `${newFolder()}/ledger`;
  const config = {
    mcpServers: { own: faultyStdio({ ledger }) },
    roles: { reader: { allow: ['own/*'] } },
  };
  await using fleet = await Fleet.start('embedded', config, withoutDatabase);
  const worker = await fleet.worker();
  const answer = await worker.call('own__add', { nonce: 'once', key: 'k', amount: 1 });
  const refused = JSON.stringify(answer);
  expect(refused).toContain('"code":"overloaded"');
  expect(refused).toContain('"dispatched":"no"');
  expect(executions(ledger, 'once')).toBe(0);
  const { stdout } = await fleet.home.run(['status', '--json']);
  expect(JSON.parse(stdout).disk.problem).toContain('kept in memory');
}, 120_000);

it('an orchestrator without a state directory serves no workers, and says so #broker-once', async () => {
  const config = { mcpServers: { own: faultyStdio() }, roles: { reader: { allow: ['own/*'] } } };
  const noState = ({ state }: GatewayHome) => writeFileSync(state, 'no directory');
  await using fleet = await Fleet.start('embedded', config, noState);
  await until(() => fleet.orchestrator.stderr.includes('workers are not served'), 'it says so');
}, 60_000);
