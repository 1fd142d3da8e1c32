// The naive floor on stdio: every message is parsed, its id is changed, and it is written out again;
// what most gateways do, without everything else that they do. Arguments: the server's command and
// its arguments.

import { spawn } from 'node:child_process';
import { linesOf } from './lines.mjs';

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const ids = new Map();
let lastId = 0;

linesOf(process.stdin, (line) => {
  const message = JSON.parse(line);
  if (message.id !== undefined) {
    lastId += 1;
    ids.set(lastId, message.id);
    message.id = lastId;
  }
  child.stdin.write(`${JSON.stringify(message)}\n`);
});
linesOf(child.stdout, (line) => {
  const message = JSON.parse(line);
  const id = ids.get(message.id);
  ids.delete(message.id);
  message.id = id;
  process.stdout.write(`${JSON.stringify(message)}\n`);
});
process.stdin.on('end', () => child.stdin.end());
