// One of the servers of objects.ts as a program on stdio: `server-main.ts NAME FILE`. What runs is written to the file,
// a line for each.

import { appendFileSync } from 'node:fs';
import { ScriptedChild, ScriptedServer } from '../support/scripted-server.ts';
import { type ServerName, scriptOf } from './objects.ts';

const [, , name = 'alpha', file = '/dev/null'] = process.argv;

const script = scriptOf(name as ServerName, (server, kind, thing) => {
  appendFileSync(file, `${JSON.stringify({ server, kind, name: thing })}\n`);
});
const child = new ScriptedChild(process.pid, new ScriptedServer(script), {
  stdout: (bytes) => void process.stdout.write(bytes),
  stderr: () => {},
  ended: () => {},
  exited: () => process.exit(0),
});
process.stdin.on('data', (bytes) => child.write(bytes, () => {}));
process.stdin.on('end', () => process.exit(0));
