// Connections that a listening socket could not accept: that is reported, and is no reason to end those that are open.
// Without a listener such an error would end the process.

import type { EventEmitter } from 'node:events';
import type { Clock } from '../../kernel/clock.ts';
import { errnoOf } from '../../kernel/errno.ts';
import { RareLine } from '../../kernel/rare-line.ts';
import { shortageOf } from '../../kernel/shortage.ts';

export interface AcceptErrorParts {
  readonly clock: Clock;
  /** For people. */
  readonly report: (text: string) => void;
}

/** From now on; `server` listens already. */
export function reportAcceptErrors(server: EventEmitter, parts: AcceptErrorParts): void {
  const line = new RareLine(parts.clock, parts.report);
  server.on('error', (error: unknown) => {
    const cause = shortageOf(error) ?? errnoOf(error) ?? String(error);
    line.say(
      () =>
        `a connection was not accepted (${cause}): raise the limits of open files and memory of the broker, or end workers that are not needed`,
    );
  });
}
