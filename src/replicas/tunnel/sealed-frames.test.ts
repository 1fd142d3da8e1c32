// The messages of a tunnel on the bus: only the other end of the same tunnel can open them, once and in order.

import { describe, expect, it } from 'vitest';
import { SealedFrames } from './sealed-frames.ts';

const secret = Buffer.alloc(32, 'secret');
const opener = { replica: 'aaaaaaaa', tunnel: '11111111' };
const acceptor = { replica: 'bbbbbbbb', tunnel: '22222222' };
const ends = { opener, acceptor };
const frame = Buffer.from('some bytes');

describe('a message of a tunnel', () => {
  it('is opened by the other end, in order and once #replicas', () => {
    const [one, other] = [
      new SealedFrames(secret, ends, 'opener'),
      new SealedFrames(secret, ends, 'acceptor'),
    ];
    const [first, second, third] = [one.seal(frame), one.seal(Buffer.alloc(0)), one.seal(frame)];
    expect(other.open(first)).toEqual(frame);
    expect(other.open(first)).toBeUndefined();
    expect(other.open(third)).toBe('gap');
    expect(other.open(second)).toEqual(Buffer.alloc(0));
    expect(other.open(third)).toEqual(frame);
    expect(one.open(other.seal(frame))).toEqual(frame);
    expect(first.equals(third)).toBe(false);
  });

  it.each([
    ['itself', secret, ends, 'opener'],
    ['one with another key', Buffer.alloc(32, 'x'), ends, 'acceptor'],
    [
      'another tunnel of the same replicas',
      secret,
      { opener, acceptor: { ...acceptor, tunnel: '33333333' } },
      'acceptor',
    ],
    [
      'another tunnel of the opener',
      secret,
      { opener: { ...opener, tunnel: '33333333' }, acceptor },
      'acceptor',
    ],
  ] as const)('is not opened by %s #replicas', (_who, key, between, end) => {
    const sealed = new SealedFrames(secret, ends, 'opener').seal(frame);
    expect(new SealedFrames(key, between, end).open(sealed)).toBeUndefined();
  });

  it('is not opened if anything of it is changed or missing #replicas', () => {
    const sealed = new SealedFrames(secret, ends, 'opener').seal(frame);
    const opened = (bytes: Buffer) => new SealedFrames(secret, ends, 'acceptor').open(bytes);
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(opened(changed)).toBeUndefined();
      expect(opened(sealed.subarray(0, at))).toBeUndefined();
    }
    expect(opened(Buffer.alloc(64, 255))).toBeUndefined();
    expect(opened(sealed)).toEqual(frame);
  });
});
