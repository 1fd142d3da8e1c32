import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { trust } from '../instance/connect/trusted-configs.ts';
import { systemClock } from '../kernel/system-clock.ts';
import type { Shell } from './shell.ts';
import { assertStillApproved, withTrustRecords } from './trust-records.ts';

const config = (command: string) => JSON.stringify({ mcpServers: { it: { command } } });

it('judges the bytes that were loaded, whatever the file holds by then #one-instance', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-trust-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'holdfast.json');
  const env = { HOME: folder, HOLDFAST_STATE: join(folder, 'state') };
  const shell = { env, cwd: folder, clock: systemClock, logs: () => false } as unknown as Shell;
  const loaded = (command: string) => {
    writeFileSync(path, config(command));
    const { sha256, config: read } = loadConfig({ file: path, cwd: folder, env });
    expect(read.mcpServers['it']).toMatchObject({ command });
    return { path, sha256 };
  };
  const approved = loaded('harmless');
  const exchanged = loaded('evil');
  // Both the hash of the start and the record are those of what is at the path now.
  writeFileSync(path, config('harmless'));
  await withTrustRecords(shell, (records) => trust(records, approved));
  const refused = { code: 'denied' };
  await expect(assertStillApproved(shell, exchanged, approved.sha256)).rejects.toMatchObject(
    refused,
  );
  await assertStillApproved(shell, approved, approved.sha256);
  // And what was loaded may be used although the file is another one again.
  writeFileSync(path, config('evil'));
  await assertStillApproved(shell, approved, approved.sha256);
  await withTrustRecords(shell, (records) => trust(records, exchanged));
  await assertStillApproved(shell, exchanged, approved.sha256);
  await assertStillApproved(shell, loaded('third'), undefined);
});
