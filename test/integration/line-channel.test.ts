// Peers of the control socket that do not read: what waits for them is bounded in time and, over all of them
// together, in bytes.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OutgoingBudget } from '../../src/downstream/outgoing/outgoing-budget.ts';
import { LineChannel, type LineChannelParts } from '../../src/instance/line-channel.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';

/** A channel, and its peer, which reads nothing yet. */
async function channelWith(parts: Partial<LineChannelParts>) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-channel-'));
  const path = join(folder, 'socket');
  const server = createServer();
  const listening = once(server, 'listening');
  server.listen(path);
  await listening;
  const arrived = once(server, 'connection');
  const peer = createConnection(path).pause();
  const [socket] = (await arrived) as [Socket];
  onTestFinished(() => {
    peer.destroy();
    socket.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  });
  let ends = 0;
  const channel = new LineChannel({
    ...{ socket, heard: () => {}, caught: () => {}, ...parts },
    ended: () => {
      ends += 1;
    },
  });
  return { channel, socket, peer, ends: () => ends };
}

const mebibyte = 'x'.repeat(1_048_576);

describe('a peer of the control socket', () => {
  it('that reads nothing of what waits is disconnected after a while #slow-client', async () => {
    const { channel, socket, ends } = await channelWith({ stallMs: 50 });
    expect(channel.send(mebibyte)).toBe(true);
    expect(socket.writableLength).toBeGreaterThan(0);
    await until(() => socket.destroyed, 'it is disconnected');
    expect([ends(), channel.send('more')]).toEqual([1, false]);
  });

  it('that reads nothing is disconnected also if its connection is ending #slow-client', async () => {
    const { channel, socket } = await channelWith({ stallMs: 50 });
    channel.send(mebibyte);
    channel.end();
    await until(() => socket.destroyed, 'it is disconnected');
  });

  it('that has read all of it stays, however long nothing more comes', async () => {
    const { channel, socket, peer, ends } = await channelWith({ stallMs: 50 });
    const idle = once(socket, 'timeout');
    let heard = 0;
    peer.on('data', ({ length }: Buffer) => {
      heard += length;
    });
    peer.resume();
    channel.send(mebibyte);
    await until(() => heard > mebibyte.length, 'it has read all');
    await idle;
    expect([ends(), channel.send('more')]).toEqual([0, true]);
  });

  it('counts with all others: together they may keep so much, and the largest goes first #slow-client', async () => {
    const clock = new ManualClock();
    const reports: string[] = [];
    const policy = { maxBytes: 8_388_608, slowBytes: 4_194_304, patienceMs: 1_000, paceBytes: 1 };
    const outgoing = new OutgoingBudget(clock, (line) => reports.push(line), policy);
    const small = await channelWith({ outgoing });
    const large = await channelWith({ outgoing });
    small.channel.send(mebibyte);
    large.channel.send(mebibyte.repeat(2));
    clock.advance(1_000);
    expect([large.ends(), outgoing.closed]).toEqual([0, 0]);
    large.channel.send(mebibyte.repeat(2));
    expect([large.ends(), large.socket.destroyed, small.ends()]).toEqual([1, true, 0]);
    expect(outgoing.bytes).toBeLessThan(2 * mebibyte.length);
    expect(reports).toHaveLength(1);
    small.peer.resume();
    await until(() => outgoing.bytes === 0, 'what was read does not count');
  });
});
