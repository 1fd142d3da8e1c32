import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GrowingBuffer } from './growing-buffer.ts';

describe('bytes that arrive in pieces', () => {
  it('are the same as one, whatever the pieces', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 10_000 }), { maxLength: 30 });
    const buffer = new GrowingBuffer(200_000);
    const property = fc.property(pieces, fc.uint8Array({ maxLength: 100 }), (all, last) => {
      for (const piece of all) buffer.add(Buffer.from(piece));
      const before = Buffer.concat(all);
      expect(buffer.bytes).toBe(before.length);
      expect(buffer.view.equals(before)).toBe(true);
      expect(buffer.take(Buffer.from(last)).equals(Buffer.concat([before, last]))).toBe(true);
      expect(buffer.bytes).toBe(0);
    });
    fc.assert(property);
  });

  it('are not copied when there is only one piece', () => {
    const buffer = new GrowingBuffer(100);
    const piece = Buffer.from('whole');
    buffer.add(piece);
    expect(buffer.take().buffer).toBe(piece.buffer);
  });

  it('are never written to once they were taken', () => {
    const buffer = new GrowingBuffer(1_000);
    const take = (text: string) => {
      for (const letter of text) buffer.add(Buffer.from(letter));
      return buffer.take();
    };
    const first = take('first');
    take('SECOND');
    expect(first.toString()).toBe('first');
  });

  it('are expected to be as many as the last time, within the limit', () => {
    const buffer = new GrowingBuffer(2_000_000);
    const piece = Buffer.alloc(65_536);
    const fill = (times: number) => {
      for (let at = 0; at < times; at++) buffer.add(piece);
      return buffer.take().buffer.byteLength;
    };
    fill(20);
    expect(fill(20)).toBe(20 * piece.length);
    expect(fill(30)).toBeLessThanOrEqual(2_000_000);
    // A short one does not take the room of a long one.
    expect(fill(3)).toBeLessThan(largest);
  });
});

const largest = 512 * 1024;
