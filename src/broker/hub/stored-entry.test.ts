// An entry of the log of letters comes back to the byte, also as earlier versions have stored it; what is none is known.

import { describe, expect, it } from 'vitest';
import { bytesOfEntry, type Entry, entryIn } from './stored-entry.ts';
import { type StoredLetter, writtenLetter } from './stored-letter.ts';

function letter(number: number, body: Buffer): StoredLetter {
  const from = { mailbox: 'ann.mcp', seat: 's', role: 'Prüferin "r"' };
  const rest = { to: 'boss', seat: null, kind: 'note', about: 'a\\b', expiresAt: 12.5 };
  return { number, id: `id "${number}`, from, ...rest, body };
}

const entry: Entry = {
  put: [
    letter(1, Buffer.from('{"text":"é"}')),
    letter(2, Buffer.alloc(0)),
    letter(3, Buffer.from([0, 255, 128, 0])),
  ],
  done: [7, 8],
};

describe('an entry of the log of letters', () => {
  it('comes back as it was #broker-durable', () => {
    expect(entryIn(Uint8Array.from(bytesOfEntry(entry)))).toEqual(entry);
    expect(entryIn(bytesOfEntry({ put: [], done: [] }))).toEqual({ put: [], done: [] });
  });

  it('is read as earlier versions have stored it #broker-durable', () => {
    const before = { put: entry.put.map(writtenLetter), done: entry.done };
    expect(entryIn(JSON.parse(JSON.stringify(before)))).toEqual(entry);
  });

  it('is none if anything of it is missing, or is something else', () => {
    const bytes = bytesOfEntry(entry);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(entryIn(bytes.subarray(0, length)), `${length} bytes`).toBeUndefined();
    }
    expect(entryIn(Buffer.concat([bytes, Buffer.of(1)]))).toBeUndefined();
    const odd = [null, 1, {}, { put: [{}], done: [] }, { put: [], done: ['1'] }];
    expect(odd.map(entryIn)).toEqual(odd.map(() => undefined));
    const sizes = [-1, 1.5, '1', undefined];
    for (const size of sizes) {
      const text = JSON.stringify({
        put: [{ ...letter(1, bytes), body: undefined, size }],
        done: [],
      });
      const head = Buffer.alloc(4);
      head.writeUInt32BE(Buffer.byteLength(text));
      expect(entryIn(Buffer.concat([head, Buffer.from(text), Buffer.of(1)]))).toBeUndefined();
    }
  });
});
