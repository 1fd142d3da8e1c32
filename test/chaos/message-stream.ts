// The messages of a response over HTTP as they come, alone or in a stream of events, and the ids of the events.

import type { IncomingMessage } from 'node:http';
import type { Message } from './seen.ts';

/** Every message of a response, whether it comes alone or in a stream of events. */
export function readMessages(
  response: IncomingMessage,
  heard: (message: Message) => void,
  ended = () => {},
  identified: (id: string) => void = () => {},
): void {
  const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    if (!isStream) return;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) hearBlock(block, heard, identified);
  });
  response.on('end', () => {
    if (!isStream && text.startsWith('{')) heard(JSON.parse(text));
  });
  response.on('error', () => {}); // it is broken off; "close" follows
  response.on('close', ended);
}

function hearBlock(
  block: string,
  heard: (message: Message) => void,
  identified: (id: string) => void,
): void {
  const all = block.split('\n');
  const id = all.find((line) => line.startsWith('id:'));
  if (id !== undefined) identified(id.slice(3).trim());
  const lines = all.filter((line) => line.startsWith('data:'));
  const data = lines.map((line) => line.slice(5).trimStart()).join('\n');
  if (data !== '') heard(JSON.parse(data));
}
