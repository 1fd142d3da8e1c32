// Room for calls that wait for the roots of their clients: what one owner may have of it, and who makes room.

import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { RootsRoom } from './roots-room.ts';

const mebibyte = 1_048_576;

function newRoom() {
  const clock = manualClock();
  const room = new RootsRoom(clock);
  /** What became of each call, in the order in which they came. */
  const given: string[] = [];
  /** As clients with these keys; those of a remote owner have it before their path. */
  const enter = (key: string, bytes = 100) => {
    const [owner = ''] = key.split('/');
    const client = { key, sharingOwner: owner.startsWith('token:') ? owner : undefined };
    return room.enter({ client, bytes, server: 's', giveUp: () => given.push(key) });
  };
  const many = (key: (at: number) => string, count: number, bytes?: number) =>
    Array.from({ length: count }, (_, at) => enter(key(at), bytes));
  return { clock, enter, many, given };
}

describe('calls that wait for the roots of their clients', () => {
  it('are bounded in number for one owner over all its paths #no-growth #principal-share', () => {
    const { enter, many, given } = newRoom();
    const waiting = many((at) => `token:ann/server/s${at}`, 64);
    expect(() => enter('token:ann/server/another')).toThrow(/answer them, or try again later/);
    expect(() => enter('token:bob')).not.toThrow();
    waiting[0]?.[Symbol.dispose]();
    waiting[0]?.[Symbol.dispose]();
    expect(() => enter('token:ann')).not.toThrow();
    expect(() => enter('token:ann')).toThrow();
    expect(given).toEqual([]);
  });

  it('are bounded in bytes for one owner, so that others have room #no-growth #principal-share', () => {
    const { enter, many, given } = newRoom();
    many(() => 'token:ann', 4, 12 * mebibyte);
    expect(() => enter('token:ann', 1)).toThrow();
    expect(() => enter('token:bob', 16 * mebibyte)).not.toThrow();
    expect(given).toEqual([]);
  });

  it('are bounded in bytes for all together: who has the most gives way, and never the local user #no-growth #principal-share', () => {
    const { enter, many, given } = newRoom();
    many((at) => `window-${at}`, 3, 16 * mebibyte);
    many(() => 'token:ann', 4, 4 * mebibyte);
    enter('token:bob', 4 * mebibyte);
    expect(given).toEqual(['token:ann']);
    enter('window-9', 8 * mebibyte);
    expect(given).toEqual(['token:ann', 'token:ann', 'token:ann']);
    enter('window-9', 8 * mebibyte);
    expect(given).toEqual(['token:ann', 'token:ann', 'token:ann', 'token:ann', 'token:bob']);
    expect(() => enter('window-8', 1)).toThrow();
  });

  it('make room for the next one of their owner when they have waited for long #own-roots', () => {
    const { clock, enter, many, given } = newRoom();
    many((at) => `token:ann/server/s${at}`, 64);
    clock.advance(9_999);
    expect(() => enter('token:ann')).toThrow();
    clock.advance(1);
    expect(() => enter('token:ann')).not.toThrow();
    expect(given).toEqual(['token:ann/server/s0']);
  });
});
