// What follows from each reading of a broker's credentials: when the hub is told that all are known, and when
// connections without a credential make room. Real records on a disk that fails as the test says.

import { describe, expect, it } from 'vitest';
import { FakeDisk } from '../../test/support/fake-disk.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import {
  credentialCollection,
  isCredentialRecord,
  newCredential,
} from '../broker/credentials/credential-record.ts';
import { CredentialTable } from '../broker/credentials/credential-table.ts';
import { FileStore } from '../store/file-store.ts';
import { DescriptorShortage, followedCredentials } from './followed-credentials.ts';

async function followed() {
  const disk = new FakeDisk();
  const clock = manualClock();
  const shortage = new DescriptorShortage();
  const store = new FileStore({ disk, clock, report: (problem) => shortage.heard(problem) });
  const records = store.records(credentialCollection, {
    durability: 'durable',
    shape: isCredentialRecord,
  });
  const about = { expiresAt: null, createdAt: 0, kind: 'worker', role: 'r', to: ['boss'] } as const;
  for (const mailbox of ['ann.mcp', 'bob.mcp']) {
    await records.put(mailbox, newCredential({ ...about, mailbox }).record);
  }
  const happened: string[] = [];
  const tokens = followedCredentials({
    table: new CredentialTable(records, clock),
    hub: { credentialsKnown: () => happened.push('known') },
    shortage,
    makeRoom: () => happened.push('room'),
  });
  return { disk, tokens, happened };
}

describe('the credentials that a broker follows', () => {
  it('are known when all were read for the first time, and stay so #broker-durable', async () => {
    const { disk, tokens, happened } = await followed();
    disk.failing.read = 'EIO';
    expect([await tokens.read(), happened]).toEqual([false, []]);
    delete disk.failing.read;
    expect([await tokens.read(), happened]).toEqual([true, ['known']]);
    disk.failing.read = 'EIO';
    await tokens.read();
    delete disk.failing.read;
    await tokens.read();
    expect(happened).toEqual(['known']);
  });

  it('make room among connections without one where descriptors are missing, and only there #principal-share', async () => {
    const { disk, tokens, happened } = await followed();
    await tokens.read();
    const [file = ''] = disk.files.keys();
    const good = disk.files.get(file) ?? Buffer.alloc(0);
    disk.files.set(`${file}.damaged`, good);
    expect([await tokens.read(), happened]).toEqual([false, ['known']]);
    disk.failing.read = 'EMFILE';
    await tokens.read();
    expect(happened).toEqual(['known', 'room']);
    delete disk.failing.read;
    expect([await tokens.read(), happened]).toEqual([false, ['known', 'room']]);
  });
});
