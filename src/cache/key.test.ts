import { describe, expect, it } from 'vitest';
import { type Canonical, cacheKey, type Shelf } from './key.ts';

const asItIs: Canonical = (json) => Buffer.from(json).toString();
const json = Buffer.from('{"x":1}');

function key(server: string, shelf: Shelf, principalId = 'anna', canonical = asItIs) {
  return cacheKey(server, shelf, principalId, json, canonical);
}

describe('a cache key', () => {
  it('is the SHA-256 of what was asked, and the same whenever it is asked', () => {
    expect(key('git', 'tool:log')?.shared).toMatch(/^[0-9a-f]{64}$/);
    expect(key('git', 'tool:log')).toEqual(key('git', 'tool:log'));
  });

  it('follows the canonical text, not the bytes', () => {
    const sorted: Canonical = () => '{"x":1,"y":2}';
    const one = cacheKey('git', 'tool:log', 'anna', Buffer.from('{"x":1,"y":2}'), sorted);
    const other = cacheKey('git', 'tool:log', 'anna', Buffer.from('{ "y":2, "x":1 }'), sorted);
    expect(one).toEqual(other);
  });

  it('has one public id for all principals and a private one for each', () => {
    const anna = key('git', 'tool:log', 'anna');
    const bert = key('git', 'tool:log', 'bert');
    expect(anna?.shared).toBe(bert?.shared);
    expect(new Set([anna?.own, bert?.own, anna?.shared]).size).toBe(3);
  });

  it('is different for another server, tool, method or argument', () => {
    const ids = [
      key('git', 'tool:log'),
      key('hub', 'tool:log'),
      key('git', 'tool:show'),
      key('git', 'tool:tools/list'),
      key('git', 'method:tools/list'),
      key('git', 'tool:log', 'anna', () => '{"x":2}'),
    ].map((made) => made?.shared);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('keeps names apart that would give the same text when joined', () => {
    expect(key('a', 'tool:b1')?.shared).not.toBe(key('atool:', 'tool:b1')?.shared);
    const one = cacheKey('a', 'tool:b', 'p', json, () => 'c');
    const other = cacheKey('a', 'tool:', 'p', json, () => 'bc');
    expect(one?.shared).not.toBe(other?.shared);
  });

  it('does not exist for arguments without a single reading', () => {
    expect(key('git', 'tool:log', 'anna', () => null)).toBeNull();
  });
});
