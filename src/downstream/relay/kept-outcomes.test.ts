// Which outcomes of parked calls are kept, and whose go first.

import { describe, expect, it } from 'vitest';
import { KeptOutcomes, maxKept } from './kept-outcomes.ts';
import type { ParkedCall } from './parked-call.ts';

const mebibyte = 1_048_576;

function newTable() {
  const table = new KeptOutcomes();
  const forgotten: string[] = [];
  /** Of a client with this key; one of a remote owner has the owner before its path. */
  const end = (key: string, bytes = 100, requestBytes = 100) => {
    const [owner = ''] = key.split('/');
    const client = { key, sharingOwner: owner.startsWith('token:') ? owner : undefined };
    const call = { caller: { client }, requestBytes, forget: () => forgotten.push(key) };
    table.add(call as unknown as ParkedCall, bytes);
    return call as unknown as ParkedCall;
  };
  return { table, forgotten, end };
}

describe('the outcomes of parked calls', () => {
  it('are kept for one owner up to its share, over all its paths #no-growth #principal-share', () => {
    const { end, forgotten } = newTable();
    end('token:bob');
    const share = (maxKept * 3) / 4;
    for (let at = 0; at < share; at += 1) end(`token:ann/server/s${at}`);
    expect(forgotten).toEqual([]);
    for (const path of ['x', 'y']) end(`token:ann/role/${path}`);
    expect(forgotten).toEqual(['token:ann/server/s0', 'token:ann/server/s1']);
  });

  it('are kept for one owner up to its share of the bytes, of requests and outcomes #no-growth #principal-share', () => {
    const { end, forgotten } = newTable();
    end('token:bob', 8 * mebibyte);
    for (const path of [1, 2, 3]) end(`token:ann/server/${path}`, 8 * mebibyte, 7 * mebibyte);
    expect(forgotten).toEqual([]);
    end('token:ann/server/4', 8 * mebibyte, 7 * mebibyte);
    expect(forgotten).toEqual(['token:ann/server/1']);
  });

  it('go first of the owner that has the most, where all together have too much #no-growth #principal-share', () => {
    const { end, forgotten } = newTable();
    for (const at of [1, 2, 3]) end(`window-${at}`, 10 * mebibyte);
    for (const path of [1, 2]) end(`token:ann/server/${path}`, 12 * mebibyte);
    end('token:bob', 20 * mebibyte);
    expect(forgotten).toEqual(['token:ann/server/1']);
    end('token:bob', 1 * mebibyte);
    expect(forgotten).toEqual(['token:ann/server/1']);
    end('window-4', 20 * mebibyte);
    expect(forgotten.slice(1)).toEqual(['token:bob']);
    for (const at of [5, 6]) end(`window-${at}`, 16 * mebibyte);
    expect(forgotten.slice(2)).toEqual(['token:ann/server/2', 'token:bob', 'window-1', 'window-2']);
  });

  it('count no more when they are forgotten #no-growth', () => {
    const { table, end, forgotten } = newTable();
    const calls = [1, 2, 3].map((at) => end(`token:ann/server/${at}`, 16 * mebibyte, 0));
    for (const call of calls) for (const _time of [1, 2]) table.remove(call);
    for (const at of [4, 5, 6]) end(`token:ann/server/${at}`, 16 * mebibyte, 0);
    expect(forgotten).toEqual([]);
  });
});
