// The naive floor on HTTP: a body is parsed, its id changed, and it is written to the server as a
// line; an answer likewise on the way back. Arguments: the server's command and its arguments.

import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { linesOf } from './lines.mjs';

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let lastId = 0;

const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const message = JSON.parse(Buffer.concat(parts).toString('utf8'));
    lastId += 1;
    waiting.set(lastId, { response, id: message.id });
    message.id = lastId;
    child.stdin.write(`${JSON.stringify(message)}\n`);
  });
});
linesOf(child.stdout, (line) => {
  const message = JSON.parse(line);
  const { response, id } = waiting.get(message.id);
  waiting.delete(message.id);
  message.id = id;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(message));
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/mcp` }));
});
