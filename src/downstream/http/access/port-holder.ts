// Finds out who uses a port that we wanted. Only another gateway of this program can be recognised:
// it identifies itself at /healthz. Anything else, and anything that answers too late, is another
// program.

import { get } from 'node:http';
import type { Clock } from '../../../kernel/clock.ts';
import { type ListenAddress, urlOf } from './listen-address.ts';

export interface PortHolder {
  readonly version: string;
}

const longestWaitMs = 1_000;
const mostBytes = 1_024;

/** The gateway that listens there; undefined if it is another program or unknown. */
export function portHolder(
  address: ListenAddress,
  name: string,
  clock: Clock,
): Promise<PortHolder | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const end = () => {
      timer[Symbol.dispose]();
      resolve(holderIn(text, name));
      request.destroy();
    };
    const timer = clock.after(longestWaitMs, end);
    const request = get(new URL('/healthz', urlOf(address)), { agent: false }, (response) => {
      response.setEncoding('latin1').on('data', (chunk: string) => {
        text += chunk;
        if (text.length > mostBytes) end();
      });
      response.on('close', end);
    });
    request.on('error', end);
  });
}

function holderIn(text: string, name: string): PortHolder | undefined {
  try {
    const said = JSON.parse(text) as { name?: unknown; version?: unknown } | null;
    const { version } = said ?? {};
    return said?.name === name && typeof version === 'string' ? { version } : undefined;
  } catch {
    // Not JSON, and so not a gateway.
    return undefined;
  }
}
