// What a running broker knows of its credentials. Real records in memory, a manual clock.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { type CredentialRecord, newCredential } from './credential-record.ts';
import { CredentialTable } from './credential-table.ts';

async function table(more: Partial<CredentialRecord> = {}) {
  const clock = manualClock();
  const store = new MemoryStore({ clock, claims: 'durable' });
  const records = store.records('credentials', { durability: 'durable' });
  const { record, secret } = newCredential({
    mailbox: 'ann.mcp',
    kind: 'worker',
    role: 'reader',
    to: ['boss'],
    createdAt: 0,
    expiresAt: null,
    ...more,
  });
  await records.put(record.mailbox, record);
  const known = new CredentialTable(records, clock);
  await known.read();
  return { clock, records, known, record, secret };
}

describe('the credentials of a broker', () => {
  it('are found by their secret and by their mailbox #broker-identity', async () => {
    const { known, secret } = await table();
    const identity = known.authenticate(secret);
    expect(identity).toMatchObject({ mailbox: 'ann.mcp', role: 'reader', to: ['boss'] });
    expect(known.ownerOf('ann.mcp')).toBe(identity);
    for (const wrong of ['', `${secret}x`, secret.slice(0, -1), 'constructor']) {
      expect(known.authenticate(wrong)).toBeUndefined();
      expect(known.ownerOf(wrong)).toBeUndefined();
    }
  });

  it('are valid until their time is over, by the wall clock #revoked', async () => {
    const { known, secret, clock } = await table({ expiresAt: 1_700_000_001_000 });
    expect(known.authenticate(secret)).toBeDefined();
    clock.jumpWall(1_000);
    expect(known.authenticate(secret)).toBeUndefined();
    expect(known.ownerOf('ann.mcp')).toBeUndefined();
    expect(known.principals).toEqual([]);
  });

  it('have the same identity until their record is another one #revoked', async () => {
    const { known, secret, records, record } = await table();
    const first = known.ownerOf('ann.mcp');
    await known.read();
    expect(known.ownerOf('ann.mcp')).toBe(first);
    const [before] = known.principals;
    await records.put(record.mailbox, { ...record, to: ['other'] });
    await known.read();
    expect(known.ownerOf('ann.mcp')).not.toBe(first);
    expect(known.authenticate(secret)?.to).toEqual(['other']);
    expect(known.principals[0]?.role).not.toBe(before?.role);
    await records.remove(record.mailbox);
    await known.read();
    expect(known.authenticate(secret)).toBeUndefined();
  });

  it.each<Partial<Record<keyof CredentialRecord, unknown>>>([
    { mailbox: 'bob.mcp' },
    { kind: 'operator' },
    { kind: 'orchestrator' },
    { role: null },
    { to: ['../x'] },
    { to: 'boss' },
    { to: Array.from({ length: 17 }, () => 'boss') },
    { hash: 'x' },
    { expiresAt: 'never' },
  ])('count only if they look like one: %j', async (wrong) => {
    const { known, records, record } = await table();
    await records.put(record.mailbox, { ...record, ...wrong });
    await known.read();
    expect(known.principals).toEqual([]);
  });

  it('are none of a mailbox whose name is a path', async () => {
    const { known, records, record } = await table();
    await records.put('../x.mcp', { ...record, mailbox: '../x.mcp' });
    await known.read();
    expect(known.principals.map(({ id }) => id)).toEqual([record.id]);
    expect(known.ownerOf('../x.mcp')).toBeUndefined();
  });
});
