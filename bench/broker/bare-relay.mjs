// The floor of the embedded broker: a WebSocket server that passes each message on to the other side and reads
// none of them. One requester and one responder; it prints its port.

import { WebSocketServer } from 'ws';

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
/** One of each side. */
const sides = new Map();

server.on('listening', () => console.log(server.address().port));
server.on('connection', (socket, { url }) => {
  const other = url === '/requester' ? '/responder' : '/requester';
  sides.set(url, socket);
  socket.on('message', (data) => sides.get(other)?.send(data));
  socket.on('close', () => sides.delete(url));
});
