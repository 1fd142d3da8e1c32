import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { MemoryStore } from './memory-store.ts';
import { sealedRecords } from './sealed-records.ts';

const process = { durability: 'process' } as const;

function opened() {
  const plain = new MemoryStore({ clock: new ManualClock() }).records('things', process);
  const secret = randomBytes(32);
  return { plain, secret, sealed: sealedRecords(plain, 'things', secret) };
}

const unreadable = expect.objectContaining({ reason: 'unreadable' });

describe('encrypted records', () => {
  it('give back what was put, and show nothing of it to those below', async () => {
    const { plain, sealed } = opened();
    const version = await sealed.put('key', { word: 'confidential' });
    expect(await sealed.get('key')).toEqual({
      key: 'key',
      value: { word: 'confidential' },
      version,
    });
    expect(await sealed.entries()).toHaveLength(1);
    expect(JSON.stringify(await plain.get('key'))).not.toContain('confidential');
    const twice = await sealed.putIfAbsent('key', 'other');
    expect(twice).toMatchObject({ isPut: false, entry: { value: { word: 'confidential' } } });
    expect((await sealed.compareAndSet('key', version, 'new')).isPut).toBe(true);
    expect((await sealed.get('key'))?.value).toBe('new');
    await sealed.remove('key');
    expect(await sealed.get('key')).toBeUndefined();
    expect(await sealed.isWhole()).toBe(true);
  });

  it('are encrypted differently each time', async () => {
    const { plain, sealed } = opened();
    await sealed.put('a', 'same');
    const first = JSON.stringify((await plain.get('a'))?.value);
    await sealed.put('a', 'same');
    expect(JSON.stringify((await plain.get('a'))?.value)).not.toBe(first);
  });

  it('cannot be opened with another secret, under another key or name, or after a change #kept-or-refused', async () => {
    const { plain, sealed, secret } = opened();
    await sealed.put('a', 'value');
    const text = String(((await plain.get('a'))?.value as { sealed?: string } | undefined)?.sealed);
    await plain.put('b', { sealed: text });
    await expect(sealed.get('b')).rejects.toEqual(unreadable);
    await expect(sealedRecords(plain, 'others', secret).get('a')).rejects.toEqual(unreadable);
    const wrong = sealedRecords(plain, 'things', randomBytes(32));
    await expect(wrong.get('a')).rejects.toEqual(unreadable);
    await expect(wrong.putIfAbsent('a', 1)).rejects.toEqual(unreadable);
    expect(await wrong.entries()).toEqual([]);
    const bytes = Buffer.from(text, 'base64');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await plain.put('a', { sealed: changed.toString('base64') });
      await expect(sealed.get('a')).rejects.toEqual(unreadable);
    }
    for (const other of [null, 'text', {}, { sealed: 1 }, { sealed: '' }]) {
      await plain.put('a', other);
      await expect(sealed.get('a')).rejects.toEqual(unreadable);
    }
  });
});
