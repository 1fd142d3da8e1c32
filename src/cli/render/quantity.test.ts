import { describe, expect, it } from 'vitest';
import { agoText, durationText, momentText, sizeText } from './quantity.ts';

describe('quantities for people', () => {
  it.each([
    [0.4, 'under 1 ms'],
    [12.3, '12 ms'],
    [1_234, '1.2 s'],
    [45_000, '45 s'],
    [125_000, '2 min'],
    [7_200_000, '2 h'],
    [259_200_000, '3 days'],
  ])('says %d ms as %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  it('says how long ago something was', () => {
    expect(agoText(300)).toBe('just now');
    expect(agoText(3_900)).toBe('3 s ago');
    expect(agoText(180_000)).toBe('3 min ago');
  });

  it.each([
    [1, '1 byte'],
    [999, '999 bytes'],
    [1_500, '1.5 kB'],
    [250_000, '250 kB'],
    [3_200_000_000, '3.2 GB'],
  ])('says %d bytes as %s', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text);
  });

  it('leaves the date out only for today', () => {
    const now = 1_794_776_090_000;
    expect(momentText(now, now)).toMatch(/^\d\d:\d\d:\d\d$/);
    expect(momentText(now - 172_800_000, now)).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  });
});
