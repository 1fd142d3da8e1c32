// Requests through the bare relay: the id of a request stands in eight characters before its body.

import { once } from 'node:events';
import { WebSocket } from 'ws';
import { Answers, type Place, type Requester } from './way.ts';

const idBytes = 8;

export async function bareWsRequester({ url }: Place): Promise<Requester> {
  const socket = await opened(`${url}/requester`);
  const answers = new Answers();
  socket.on('message', (data: Buffer) => {
    answers.came(data.toString('latin1', 0, idBytes).trimStart(), data.subarray(idBytes));
  });
  return {
    ask: (body) => {
      const { id, answer } = answers.wait();
      const message = Buffer.allocUnsafe(idBytes + body.length);
      message.write(id.padStart(idBytes), 'latin1');
      body.copy(message, idBytes);
      socket.send(message);
      return answer;
    },
    settled: async () => {},
  };
}

export async function bareWsResponder({ url }: Place): Promise<void> {
  const socket = await opened(`${url}/responder`);
  socket.on('message', (data: Buffer) => socket.send(data));
}

async function opened(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await once(socket, 'open');
  return socket;
}
