import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteLength, byteText, ownCopy } from './frame-bytes.ts';

const bytesOf = (frame: readonly (string | Buffer)[]) =>
  Buffer.concat(frame.map((piece) => Buffer.from(piece as string)));

describe('a frame as bytes', () => {
  it('is the same bytes however it is cut, and as long as it says', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(fc.array(piece), (frame) => {
        const bytes = byteLength(frame);
        const whole = bytesOf(frame);
        expect(bytes).toBe(whole.length);
        expect(Buffer.from(byteText(frame), 'latin1')).toEqual(whole);
        expect(bytesOf(ownCopy(frame, bytes))).toEqual(whole);
      }),
    );
  });

  it('is kept in memory of its own if it is small, and uncopied if it is large', () => {
    expect(ownCopy(['a', Buffer.from('b'), 'c'], 3)).toEqual(['abc']);
    const [copy] = ownCopy(['a', Buffer.from('é')], 3);
    expect(copy).toEqual(Buffer.from('aé'));
    const large = Buffer.alloc(5_000_000);
    const frame = ['{', large, '}'];
    expect(ownCopy(frame, byteLength(frame))[1]).toBe(large);
  });
});
