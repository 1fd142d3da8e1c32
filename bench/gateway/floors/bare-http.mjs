// The bare floor on HTTP: a body goes to the server as one line, a line goes back as the body of the
// answer, chunk by chunk. Nothing is read: whose answer it is follows from the order alone, which
// only a server that answers in order allows. Arguments: the server's command and its arguments.

import { spawn } from 'node:child_process';
import { createServer } from 'node:http';

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const lineFeed = Buffer.from('\n');
const waiting = [];

const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    waiting.push(response);
    child.stdin.write(Buffer.concat([...parts, lineFeed]));
  });
});
child.stdout.on('data', (chunk) => {
  let start = 0;
  for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
    answered(waiting.shift()).end(chunk.subarray(start, end));
    start = end + 1;
  }
  if (start < chunk.length) answered(waiting[0]).write(chunk.subarray(start));
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/mcp` }));
});

function answered(response) {
  if (!response.headersSent) response.setHeader('content-type', 'application/json');
  return response;
}
