// A replica that ends while it still compares its key with that of the others: nothing of it goes on.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { until } from '../../../test/support/until.ts';
import type { LoadedConfig } from '../../config/loaded.ts';
import type { OpenedHost } from '../../host/create-host.ts';
import { StoreError } from '../../store/store-error.ts';
import { Replicas } from './replicas.ts';

it('a replica that has ended does not ask for the key of the others any more #replicas', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-replicas-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const clock = new ManualClock();
  // Nobody listens there.
  const store = 'nats://127.0.0.1:1/test';
  const config = { store, keyFile: join(folder, 'holdfast.key'), http: { auth: 'token' } };
  const loaded = { config, file: join(folder, 'holdfast.json') } as unknown as LoadedConfig;
  const replicas = await Replicas.open(loaded, clock);
  if (replicas === undefined) throw new Error('it is none');
  const asked: ((error: unknown) => void)[] = [];
  const putIfAbsent = () => new Promise((_resolve, reject) => asked.push(reject));
  const host = { records: () => ({ putIfAbsent }), servers: () => [] } as unknown as OpenedHost;
  const away = new StoreError('not_kept', 'it is away');
  const joining = replicas.join(host);
  asked[0]?.(away);
  await joining;
  clock.advance(1_000);
  await until(() => asked.length === 2, 'it to ask again');
  await replicas[Symbol.asyncDispose]();
  asked[1]?.(away);
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect([clock.pending, asked.length]).toEqual([0, 2]);
});
