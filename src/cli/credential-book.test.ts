// Adding, listing and revoking credentials of a broker, beside tokens. Real records in memory.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { storedCredentials } from '../broker/credentials/credential-record.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { addCredential, type CredentialWish, listedCredentials } from './credential-book.ts';
import { addToken } from './token-book.ts';
import { revokeNamed } from './token-revocation.ts';

function book() {
  const store = new MemoryStore({ clock: manualClock(), claims: 'durable' });
  const credentials = store.records('credentials', { durability: 'durable' });
  const tokens = {
    local: store.records('local', { durability: 'durable' }),
    own: store.records('own', { durability: 'durable' }),
    uses: store.records('uses', { durability: 'forgetful' }),
  };
  const common = { now: 5, expiresAt: null, where: ' --dir b' };
  const add = (wish: Partial<CredentialWish>) =>
    addCredential(credentials, {
      kind: 'worker',
      name: 'ann',
      role: 'reader',
      to: ['boss'],
      ...common,
      ...wish,
    });
  const addOrchestrator = (name: string) =>
    addCredential(credentials, { kind: 'orchestrator', name, role: null, to: [], ...common });
  return {
    credentials,
    tokens,
    add,
    addOrchestrator,
    revoke: (word: string) => revokeNamed({ tokens, credentials }, word),
  };
}

describe('a credential that is added', () => {
  it('is stored as a hash, for the mailbox of its worker #broker-identity', async () => {
    const { credentials, add } = book();
    const { secret, record } = await add({ to: ['boss', 'boss', 'other'], expiresAt: 9 });
    expect(secret).toMatch(/^hfw_[A-Za-z0-9_-]{43}$/);
    expect(record).toMatchObject({
      mailbox: 'ann.mcp',
      kind: 'worker',
      role: 'reader',
      to: ['boss', 'other'],
      createdAt: 5,
      expiresAt: 9,
    });
    expect(await storedCredentials(credentials)).toEqual([record]);
    expect(JSON.stringify(await credentials.entries())).not.toContain(secret.slice(4));
  });

  it('of an orchestrator has neither a role nor destinations', async () => {
    const { addOrchestrator } = book();
    const { secret, record } = await addOrchestrator('boss');
    expect(secret).toMatch(/^hfo_[A-Za-z0-9_-]{43}$/);
    expect(record).toMatchObject({ mailbox: 'boss', kind: 'orchestrator', role: null, to: [] });
  });

  it('is the only one of its mailbox; the next is possible when it is revoked', async () => {
    const { add, revoke, credentials } = book();
    const { record } = await add({});
    await expect(add({ role: 'other' })).rejects.toThrow('holdfast token revoke ann --dir b');
    expect(await storedCredentials(credentials)).toEqual([record]);
    await revoke('ann');
    expect((await add({})).record.id).not.toBe(record.id);
  });

  it('names the orchestrators that have none yet', async () => {
    const { add, addOrchestrator } = book();
    await addOrchestrator('boss');
    expect((await add({ to: ['boss', 'other'] })).missing).toEqual(['other']);
  });

  it.each([
    '',
    ' ',
    '..',
    '../boss',
    'a/b',
    'a\\b',
    'a..b',
    '.a',
    'a.',
    'Ann',
    'a b',
    'a\n',
    'ä',
    'a*',
    'a>',
    'ann.mcp',
    'x'.repeat(61),
  ])('cannot be called %j, nor go to it', async (name) => {
    const { add, addOrchestrator, credentials } = book();
    for (const work of [add({ name }), addOrchestrator(name), add({ to: [name] })]) {
      await expect(work).rejects.toMatchObject({ code: 'invalid_request' });
    }
    expect(await credentials.entries()).toEqual([]);
  });

  it('has at most sixteen destinations', async () => {
    const { add } = book();
    const to = Array.from({ length: 17 }, (_, at) => `boss-${at}`);
    await expect(add({ to })).rejects.toThrow('at most 16');
    await add({ to: to.slice(1), name: 'x'.repeat(60) });
  });
});

describe('the list of credentials', () => {
  it('has orchestrators first, each kind by name, and no hash', async () => {
    const { add, addOrchestrator, credentials } = book();
    for (const name of ['zoe', 'ann']) await add({ name });
    const { record } = await addOrchestrator('zack');
    const listed = await listedCredentials(credentials);
    expect(listed.map(({ name, mailbox }) => [name, mailbox])).toEqual([
      ['zack', 'zack'],
      ['ann', 'ann.mcp'],
      ['zoe', 'zoe.mcp'],
    ]);
    expect(JSON.stringify(listed)).not.toContain(record.hash);
  });
});

describe('a credential that is revoked', () => {
  it('is named by its name, its mailbox or its id #revoked', async () => {
    const { add, revoke, credentials } = book();
    const { record } = await add({ name: 'three' });
    await add({ name: 'one' });
    await add({ name: 'two' });
    expect(await revoke('one')).toMatchObject({ name: 'one', kind: 'worker' });
    expect(await revoke('two.mcp')).toMatchObject({ name: 'two' });
    expect(await revoke(record.id)).toMatchObject({ name: 'three' });
    expect(await credentials.entries()).toEqual([]);
  });

  it('is told apart from a token or another member of the same name by its id', async () => {
    const { add, addOrchestrator, tokens, revoke } = book();
    const { record: worker } = await add({ name: 'ci' });
    const { record: orchestrator } = await addOrchestrator('ci');
    const token = await addToken(tokens, { role: 'r', name: 'ci', now: 0, expiresAt: null });
    await expect(revoke('ci')).rejects.toThrow(
      `${token.record.id}, ${orchestrator.id} (orchestrator), ${worker.id} (worker)`,
    );
    await revoke(orchestrator.id);
    await revoke(token.record.id);
    expect(await revoke('ci')).toMatchObject({ kind: 'worker' });
  });
});
