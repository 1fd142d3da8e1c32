// What is sent on a WebSocket: bytes that a real one reads as they were, whatever their length, in one write for each
// turn of the event loop.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type Duplex, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { FrameWriter } from './frame-writer.ts';
import { decodeHubFrame, type HubFrame } from './frames.ts';
import { isUnseen, type MessageSide } from './web-socket-head.ts';

const numbersFrame = (ns: readonly number[]) => ({ is: 'done', ns }) as const;
const mail: HubFrame = {
  ...{ is: 'mail', mail: 1, id: 'i', from: 'boss', seat: 's', role: null, kind: 'note' },
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A stream that notes its writes, and a writer to it. */
function noted(side: MessageSide) {
  const writes: Buffer[] = [];
  const stream = new Writable({
    writev: (chunks, done) => {
      writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)));
      done();
    },
  });
  const socket = { readyState: 1, OPEN: 1, send: () => {} } as unknown as WebSocket;
  return { writer: new FrameWriter({ socket, stream, side, numbersFrame }), writes, socket };
}

/** Both ends of a real WebSocket, and what each writes to. */
async function pair() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  const upgraded = once(client, 'upgrade') as Promise<[{ readonly socket: Duplex }]>;
  const [[other, request], [response]] = await Promise.all([
    once(server, 'connection') as Promise<[WebSocket, { readonly socket: Duplex }]>,
    upgraded,
    once(client, 'open'),
  ]);
  const close = () => {
    client.terminate();
    server.close();
  };
  return { client, other, toServer: response.socket, toClient: request.socket, close };
}

describe('what is sent on a WebSocket', () => {
  it.each([0, 1, 40, 125, 126, 16_383, 16_384, 65_400, 65_535, 65_536, 300_000])(
    'is read as it was by the other side, with a body of %i bytes',
    async (length) => {
      const { client, other, toServer, toClient, close } = await pair();
      const body = Buffer.alloc(length, 'abc\0ÿ');
      const cases = [
        { from: client, stream: toServer, to: other, side: 'client' },
        { from: client, stream: toServer, to: other, side: 'masked' },
        { from: other, stream: toClient, to: client, side: 'server' },
      ] as const;
      for (const { from, stream, to, side } of cases) {
        const came = once(to, 'message') as Promise<[Buffer]>;
        const writer = new FrameWriter({ socket: from, stream, side, numbersFrame });
        writer.send(mail, body);
        const [bytes] = await came;
        expect(decodeHubFrame(bytes)?.header).toEqual(mail);
        expect(decodeHubFrame(bytes)?.body.equals(body)).toBe(true);
      }
      close();
    },
  );

  it('in one turn is one write, its numbers are one frame, and the next turn is another', async () => {
    const { writer, writes } = noted('server');
    writer.send(mail);
    writer.number(4);
    writer.send(mail, Buffer.alloc(20_000));
    writer.number(5);
    expect(writes).toEqual([]);
    await turn();
    expect(writes).toHaveLength(1);
    expect(writes[0]?.toString('latin1')).toContain('{"is":"done","ns":[4,5]}');
    writer.number(6);
    await turn();
    expect(writes).toHaveLength(2);
  });

  it('is written at once where the link ends, and nothing after that', async () => {
    const { writer, writes, socket } = noted('server');
    writer.number(4);
    writer.flush();
    expect(writes).toHaveLength(1);
    Object.assign(socket, { readyState: 2 });
    writer.send(mail);
    writer.number(5);
    await turn();
    expect(writes).toHaveLength(1);
  });

  it('has at most as many numbers in one frame as the other side takes', async () => {
    const { writer, writes } = noted('server');
    for (let number = 1; number <= 10_000; number += 1) writer.number(number);
    await turn();
    const frames =
      Buffer.concat(writes)
        .toString('latin1')
        .match(/\{[^}]*\}/g) ?? [];
    const counts = frames.map((text) => (JSON.parse(text) as { ns: number[] }).ns.length);
    expect(counts).toEqual([4_096, 4_096, 1_808]);
  });
});

it('bytes are masked unless they stay on this machine or go through TLS', () => {
  const unseen = [
    'wss://broker.example:4200',
    'ws://127.0.0.1:4200',
    'ws://[::1]:1',
    'ws://127.9.9.9',
  ];
  const seen = [
    'ws://broker.example',
    'ws://10.0.0.1:4200',
    'ws://127.0.0.1.example',
    'ws://localhost',
  ];
  expect(unseen.map(isUnseen)).toEqual(unseen.map(() => true));
  expect(seen.map(isUnseen)).toEqual(seen.map(() => false));
});
