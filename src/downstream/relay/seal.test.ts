import { describe, expect, it } from 'vitest';
import { Seal } from './seal.ts';

describe('a sealed value', () => {
  const seal = new Seal();
  const sealed = seal.close({ round: 1, text: 'é' });

  it('comes back as it was, and is never the same text twice', () => {
    expect(seal.open(sealed)).toEqual({ round: 1, text: 'é' });
    expect(seal.close({ round: 1, text: 'é' })).not.toBe(sealed);
  });

  it('says nothing to its holder', () => {
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('round');
  });

  it('is not ours with any one character changed', () => {
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      expect(seal.open(sealed.slice(0, at) + other + sealed.slice(at + 1))).toBeUndefined();
    }
  });

  it('is not ours cut off at any place', () => {
    for (let length = 0; length < sealed.length; length++) {
      expect(seal.open(sealed.slice(0, length))).toBeUndefined();
    }
  });

  it.each([
    '',
    'x',
    '!!',
    `${sealed}=`,
    ` ${sealed}`,
    `${sealed}\n`,
    sealed + sealed,
    'é'.repeat(99),
  ])('is not ours in the spelling %j', (text) => {
    expect(seal.open(text)).toBeUndefined();
  });

  it('of another key is not ours', () => {
    expect(new Seal().open(sealed)).toBeUndefined();
    expect(
      new Seal(Buffer.alloc(32, 1)).open(new Seal(Buffer.alloc(32, 2)).close(1)),
    ).toBeUndefined();
  });

  it('opens with the same key elsewhere', () => {
    const key = Buffer.alloc(32, 7);
    expect(new Seal(key).open(new Seal(key).close([1]))).toEqual([1]);
  });
});
