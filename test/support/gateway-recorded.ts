// A stdio server whose input is written down on its way: what it was told can be read from a file
// while it runs and after it has gone, without asking it.

import { readFileSync } from 'node:fs';
import type { FaultyCommand } from './faulty.ts';
import type { Json } from './gateway-stdio-client.ts';

/** The same server behind a `tee` into the file. */
export function recorded({ command, args }: FaultyCommand, file: string): FaultyCommand {
  return { command: '/bin/sh', args: ['-c', 'tee -a "$0" | "$@"', file, command, ...args] };
}

/** The messages that the server was sent so far. */
export function sentTo(file: string): Json[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  // The last piece is a line that is still being written, or nothing.
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** The call with this nonce, once it has reached the server. */
export function callIn(file: string, nonce: string): Json | undefined {
  return sentTo(file).find(({ params }) => params?.arguments?.nonce === nonce);
}

/** Was the server told that nobody waits for this call any more? */
export function isCancelledIn(file: string, nonce: string): boolean {
  const call = callIn(file, nonce);
  return (
    call !== undefined &&
    sentTo(file).some(
      ({ method, params }) => method === 'notifications/cancelled' && params.requestId === call.id,
    )
  );
}
