// The bytes between a raw client and its server: whole messages as the text they were, over stdio or
// HTTP, without an SDK in between. What a message means is the raw client's business.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import type { Door } from '../../support/gateway.ts';

export interface RawWire {
  /** Sends one message. Every message that comes in goes to the listener; HTTP gives its headers. */
  send(
    text: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<IncomingMessage | undefined>;
  close(): Promise<void>;
}

export function openWire(door: Door, listener: (text: string) => void): RawWire {
  return door.kind === 'http' ? httpWire(door.url, listener) : stdioWire(door, listener);
}

function stdioWire(door: Door & { kind: 'stdio' }, listener: (text: string) => void): RawWire {
  const child = spawn(door.command, [...door.args], {
    env: { ...door.env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  createInterface(child.stdout).on('line', listener);
  return {
    send: async (text) => void child.stdin.write(`${text}\n`),
    close: () => ended(child),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.stdin?.end();
  await exited;
}

function httpWire(url: string, listener: (text: string) => void): RawWire {
  const open = new Set<IncomingMessage>();
  return {
    send: async (text, headers) => {
      const post = request(url, {
        method: text === '' ? 'DELETE' : 'POST',
        agent: false,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
      });
      post.end(text);
      const [response] = (await once(post, 'response')) as [IncomingMessage];
      open.add(response);
      response.on('close', () => open.delete(response));
      listen(response, listener);
      return response;
    },
    close: async () => {
      for (const response of open) response.destroy();
    },
  };
}

/** A body of JSON is one message; of events, one in each `data:`. */
function listen(response: IncomingMessage, listener: (text: string) => void): void {
  const isStream = response.headers['content-type']?.startsWith('text/event-stream') ?? false;
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (!isStream) return;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = text
        .slice(0, end)
        .split('\n')
        .filter((line) => line.startsWith('data:'));
      text = text.slice(end + 2);
      const message = data.map((line) => line.slice(5).replace(/^ /, '')).join('\n');
      if (message !== '') listener(message);
    }
  });
  response.on('end', () => {
    if (!isStream && text !== '') listener(text);
  });
  // A stream that we or the server cut short ends here; whoever waits for its answer times out.
  response.on('error', () => {});
}
