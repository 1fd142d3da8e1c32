// The floor: a pipe, JSON.stringify, JSON.parse and a map of ids. No limits, no deadlines, no
// supervision, no checks; nobody should use it, and nothing useful can be much faster.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { EchoClient } from '../client.ts';

type Answer = { readonly result: { readonly content: readonly [{ readonly text: string }] } };

export async function bareClient(command: string, args: readonly string[]): Promise<EchoClient> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, (answer: Answer) => void>();
  let nextId = 1;
  let parts: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      const message = JSON.parse(Buffer.concat(parts).toString('utf8'));
      parts = [];
      start = end + 1;
      const resolve = waiting.get(message.id);
      waiting.delete(message.id);
      resolve?.(message);
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  });
  const request = (method: string, params: unknown) =>
    new Promise<Answer>((resolve) => {
      const id = nextId++;
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  await request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bare', version: '0' },
  });
  return {
    name: 'bare pipe',
    async echo(text, repeat) {
      const args = repeat === 1 ? { text } : { text, repeat };
      const answer = await request('tools/call', { name: 'echo', arguments: args });
      return answer.result.content[0].text;
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}
