import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteLength, inFewPieces, ownCopy } from './frame-bytes.ts';

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
        expect(bytesOf(inFewPieces(frame, bytes))).toEqual(whole);
        expect(bytesOf(ownCopy(frame, bytes))).toEqual(whole);
      }),
    );
  });

  it('is one piece if it is small, and its own pieces, uncopied, if it is large', () => {
    expect(inFewPieces(['a', Buffer.from('b'), 'c'], 3)).toHaveLength(1);
    const large = Buffer.alloc(5_000_000);
    const frame = ['{', large, '}'];
    expect(inFewPieces(frame, byteLength(frame))[1]).toBe(large);
    expect(ownCopy(frame, byteLength(frame))[1]).toBe(large);
  });
});
