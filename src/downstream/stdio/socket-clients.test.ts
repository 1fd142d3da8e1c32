import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { result } from '../../../test/support/fake-front.ts';
import { PlayedFront } from '../../../test/support/handed-client.ts';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import { PlayedLink } from '../../../test/support/played-client-link.ts';
import { OutgoingBudget } from '../outgoing/outgoing-budget.ts';
import { SocketClients } from './socket-clients.ts';

/** A connection of one client, with a handle below it as Node has one. */
class PlayedSocket extends Duplex {
  readonly handle = {
    reading: true,
    readStop: () => 0,
    onread: undefined as unknown,
    writeQueueSize: 0,
  };
  _handle: object | null = this.handle;
  written = '';

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    // Without a handle nothing arrives any more.
    if (this._handle !== null) this.written += chunk.toString();
    done();
  }

  say(...messages: object[]): void {
    for (const message of messages) {
      this.push(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    }
  }
}

const initialize = { id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25' } };

async function withWindow() {
  const front = new PlayedFront();
  const clock = manualClock();
  const outgoing = new OutgoingBudget(clock);
  const clients = new SocketClients({ front, clock, outgoing, frameBytes: 100_000 });
  const socket = new PlayedSocket();
  clients.add(socket as unknown as Socket);
  socket.say(initialize);
  await settled();
  socket.say({ id: 1, method: 'tools/call', params: {} });
  await settled();
  const [mine, next] = PlayedLink.pair();
  const lines: string[] = [];
  next.on('stdio', (head, line) => {
    if ((head as { say: string }).say === 'line') lines.push(line.toString());
  });
  const given: object[] = [];
  const handOver = () =>
    clients.handOver({ socket: (handle) => given.push(handle), link: () => mine });
  return { front, clients, socket, lines, given, handOver };
}

describe('a window that goes to the next process', () => {
  it('gets an answer that comes while its connection is being taken #rollout', async () => {
    const { front, socket, lines, given, handOver } = await withWindow();
    const destroyed = PlayedSocket.prototype.destroy;
    const handing = handOver();
    const { destroy } = socket;
    socket.destroy = function (this: PlayedSocket, error?: Error) {
      // In the moment after the handle was taken.
      queueMicrotask(() => front.last().reply.answer(result(1)));
      return (Object.hasOwn(socket, 'destroy') ? destroy : destroyed).call(socket, error);
    } as typeof destroy;
    const { windows, lost } = await handing;
    await settled();
    expect([windows.length, lost, given]).toEqual([1, 0, [socket.handle]]);
    expect(lines.map((line) => JSON.parse(line).id)).toEqual([1]);
    expect(socket.written.trim().split('\n')).toHaveLength(1);
  });

  it.each(['at once', 'when its connection is to be taken'])(
    'is closed, and what runs for it is cancelled, if it takes nothing: %s',
    async (when) => {
      const { front, socket, given, handOver } = await withWindow();
      if (when === 'at once') socket.handle.writeQueueSize = 5;
      const handing = handOver();
      socket.handle.writeQueueSize = 5;
      const { windows, lost } = await handing;
      await settled();
      expect([windows.length, lost, given]).toEqual([0, 1, []]);
      expect([socket.destroyed, front.session.isClosed]).toEqual([true, true]);
    },
  );
});
