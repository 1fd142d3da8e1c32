import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeRecord, encodeRecord } from './record.ts';

const record = {
  collection: 'verdicts',
  key: 'line\nbreak',
  expiresAt: 5,
  version: '1-1',
  text: '{"n":9007199254740993,"t":"a\\nb"}',
};
const bytes = encodeRecord(record);

describe('a record as bytes', () => {
  it('reads back as it was written, to the byte of its value', () => {
    expect(decodeRecord(bytes)).toEqual({
      kind: 'record',
      record,
      value: JSON.parse(record.text),
    });
  });

  it('is damaged when it is cut anywhere', () => {
    for (let length = 0; length < bytes.length; length += 1) {
      expect(decodeRecord(bytes.subarray(0, length)).kind).toBe('damaged');
    }
  });

  it('is damaged when any bit is flipped', () => {
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const copy = Buffer.from(bytes);
      copy.writeUInt8(copy.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(decodeRecord(copy).kind).toBe('damaged');
    }
  });

  it('is damaged when something follows it', () => {
    expect(decodeRecord(Buffer.concat([bytes, Buffer.from('x')])).kind).toBe('damaged');
  });

  it.each([
    ['a value that is no JSON', '{"collection":"a","key":"b","expiresAt":null}\n{\n'],
    ['no value', '{"collection":"a","key":"b","expiresAt":null}\n'],
    ['no key', '{"collection":"a","expiresAt":null}\n1\n'],
    ['a time that is none', '{"collection":"a","key":"b","expiresAt":"soon"}\n1\n'],
    ['a first line that is no JSON', 'x\n1\n'],
    ['a first line that is null', 'null\n1\n'],
  ])('is damaged when it has a good checksum but %s', (_, body) => {
    const sum = hash('sha256', `1\n${body}`, 'hex');
    const decoded = decodeRecord(Buffer.from(`holdfast-record 1 ${sum}\n${body}`));
    expect(decoded.kind).toBe('damaged');
  });

  it('is distinguished from one of a later format, which is not changed', () => {
    const later =
      'holdfast-record 2 a5ef47cbc3d5533080f56f765b6c6db637611d0913b995dad42232382db01126\nnew\n';
    expect(decodeRecord(Buffer.from(later))).toEqual({ kind: 'newer', version: 2 });
  });
});
