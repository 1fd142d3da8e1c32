// The link between two versions over a real socket: large payloads, an end while both sides write, and a side that is
// gone without a word.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Link, linkOver } from '../../src/rollout/link.ts';

let folder = '';
let sockets: readonly Socket[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-link-'));
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await rm(folder, { recursive: true });
});

async function links(): Promise<readonly [Link, Link]> {
  const server = createServer();
  const path = join(folder, 's');
  server.listen(path);
  await once(server, 'listening');
  const one = createConnection(path);
  const accepted = once(server, 'connection');
  await once(one, 'connect');
  const [other] = (await accepted) as [Socket];
  server.close();
  sockets = [one, other];
  return [linkOver(one), linkOver(other)];
}

const bytes = (size: number) => Buffer.from(Uint8Array.from({ length: size }, (_, at) => at % 251));

describe('a link over a socket', () => {
  it('carries megabytes in both directions, byte for byte, also those sent right before its end', async () => {
    const [one, other] = await links();
    const payload = bytes(5_000_000);
    const heard: { readonly from: string; readonly head: unknown; readonly isSame: boolean }[] = [];
    for (const [from, link] of [['other', one] as const, ['one', other] as const]) {
      link.on('line', (head, got) => heard.push({ from, head, isSame: got.equals(payload) }));
    }
    for (let at = 0; at < 5; at += 1) {
      one.send('line', at, payload);
      other.send('line', at, payload.subarray(0));
    }
    one[Symbol.dispose]();
    await Promise.all([one.closed, other.closed]);
    const ofOne = heard.filter(({ from }) => from === 'one');
    expect(ofOne).toEqual([0, 1, 2, 3, 4].map((head) => ({ from: 'one', head, isSame: true })));
    expect([one.fault, other.fault]).toEqual([undefined, undefined]);
  });

  it('ends with a reason when the other side is gone within a message, and with none between two', async () => {
    const [one, other] = await links();
    one.send('line', 1, Buffer.alloc(30_000_000));
    // Not all of it is with the system yet.
    sockets[0]?.destroy();
    await Promise.all([one.closed, other.closed]);
    expect(other.fault?.reason).toMatch(/^(cut|broken)$/);
    const [next, last] = await links();
    sockets[0]?.destroy();
    await last.closed;
    expect([last.fault, next.isOpen]).toEqual([undefined, false]);
  });
});
