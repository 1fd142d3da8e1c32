import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { Records } from './contract/records.ts';
import { MemoryStore } from './memory-store.ts';
import { sealedRecords } from './sealed-records.ts';

const process = { durability: 'process' } as const;

/** Over records that take bytes, or JSON alone. */
function opened(takesBytes = true) {
  const memory = new MemoryStore({ clock: new ManualClock() }).records('things', process);
  const plain: Records = takesBytes ? memory : withoutBytes(memory);
  const secret = randomBytes(32);
  return { plain, secret, sealed: sealedRecords(plain, 'things', secret) };
}

function withoutBytes(records: Records): Records {
  return {
    get: (key) => records.get(key),
    put: (key, value, options) => records.put(key, JSON.parse(JSON.stringify(value)), options),
    putIfAbsent: (key, value, options) => records.putIfAbsent(key, value, options),
    compareAndSet: (key, version, value, options) =>
      records.compareAndSet(key, version, value, options),
    remove: (key) => records.remove(key),
    entries: (prefix) => records.entries(prefix),
    isWhole: () => records.isWhole(),
  };
}

/** What those below have, whichever way. */
async function shown(plain: Records, key: string): Promise<Buffer> {
  const value = (await plain.get(key))?.value;
  if (value instanceof Uint8Array) return Buffer.from(value);
  return Buffer.from(String((value as { sealed?: string } | undefined)?.sealed), 'base64');
}

const unreadable = expect.objectContaining({ reason: 'unreadable' });

describe.each([true, false])('encrypted records, where bytes can be stored: %s', (takesBytes) => {
  it('give back what was put, and show nothing of it to those below', async () => {
    const { plain, sealed } = opened(takesBytes);
    const version = await sealed.put('key', { word: 'confidential' });
    expect(await sealed.get('key')).toEqual({
      key: 'key',
      value: { word: 'confidential' },
      version,
    });
    expect(await sealed.entries()).toHaveLength(1);
    expect((await shown(plain, 'key')).toString('latin1')).not.toContain('confidential');
    const twice = await sealed.putIfAbsent('key', 'other');
    expect(twice).toMatchObject({ isPut: false, entry: { value: { word: 'confidential' } } });
    expect((await sealed.compareAndSet('key', version, 'new')).isPut).toBe(true);
    expect((await sealed.get('key'))?.value).toBe('new');
    await sealed.remove('key');
    expect(await sealed.get('key')).toBeUndefined();
    expect(await sealed.isWhole()).toBe(true);
  });

  it('are encrypted differently each time', async () => {
    const { plain, sealed } = opened(takesBytes);
    await sealed.put('a', 'same');
    const first = await shown(plain, 'a');
    await sealed.put('a', 'same');
    expect((await shown(plain, 'a')).equals(first)).toBe(false);
  });

  it('give back bytes to the byte, of any length, and leave them to who has put them', async () => {
    const { plain, sealed } = opened(takesBytes);
    for (const length of [0, 1, 65_535, 65_536, 200_000]) {
      const bytes = randomBytes(length);
      const before = Buffer.from(bytes);
      await sealed.put('a', bytes);
      expect(bytes.equals(before)).toBe(true);
      const value = (await sealed.get('a'))?.value as Uint8Array;
      expect(Buffer.from(value).equals(before)).toBe(true);
      expect((await plain.get('a'))?.value instanceof Uint8Array).toBe(takesBytes);
    }
  });

  it('that were stored as text before are opened', async () => {
    const { plain, sealed } = opened(takesBytes);
    await sealed.put('a', { word: 1 });
    await plain.put('a', { sealed: (await shown(plain, 'a')).toString('base64') });
    expect((await sealed.get('a'))?.value).toEqual({ word: 1 });
  });

  it('cannot be opened with another secret, under another key or name, or after a change #kept-or-refused', async () => {
    const { plain, sealed, secret } = opened(takesBytes);
    await sealed.put('a', 'value');
    const bytes = await shown(plain, 'a');
    const stored = (some: Buffer) =>
      takesBytes ? Uint8Array.from(some) : { sealed: some.toString('base64') };
    await plain.put('b', stored(bytes));
    await expect(sealed.get('b')).rejects.toEqual(unreadable);
    await expect(sealedRecords(plain, 'others', secret).get('a')).rejects.toEqual(unreadable);
    const wrong = sealedRecords(plain, 'things', randomBytes(32));
    await expect(wrong.get('a')).rejects.toEqual(unreadable);
    await expect(wrong.putIfAbsent('a', 1)).rejects.toEqual(unreadable);
    expect(await wrong.entries()).toEqual([]);
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await plain.put('a', stored(changed));
      await expect(sealed.get('a')).rejects.toEqual(unreadable);
    }
    for (const other of [null, 'text', {}, { sealed: 1 }, { sealed: '' }]) {
      await plain.put('a', other);
      await expect(sealed.get('a')).rejects.toEqual(unreadable);
    }
  });
});
