// Requests that were refused before they were anybody's: without a valid credential (401), or to a path that does
// not exist for them (404). They are in no audit log, so they are counted, and there is a line for an operator who
// wants to know (HOLDFAST_LOG=info): the first at once, then at most one a minute with the number of those between.

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../kernel/clock.ts';
import { printableLine } from '../../../kernel/printable.ts';
import { RareLine } from '../../../kernel/rare-line.ts';
import { cutText } from '../../../kernel/text-cut.ts';

export interface RefusedCounts {
  /** Answered 401: no valid credential. */
  readonly unauthorized: number;
  /** Answered 404: no such path, or nothing behind it for this principal. */
  readonly notFound: number;
}

const longestPath = 80;

export class RefusedRequests {
  readonly #line: RareLine;
  #unauthorized = 0;
  #notFound = 0;

  constructor(clock: Clock, report: (line: string) => void) {
    this.#line = new RareLine(clock, report);
  }

  get counts(): RefusedCounts {
    return { unauthorized: this.#unauthorized, notFound: this.#notFound };
  }

  add(status: 401 | 404, req: IncomingMessage): void {
    if (status === 401) this.#unauthorized += 1;
    else this.#notFound += 1;
    this.#line.say(() => printableLine(`http: refused ${requestText(req)} with ${status}`));
  }
}

/** Without its query, which may have secrets. */
function requestText({ method, url = '', socket }: IncomingMessage): string {
  const path = cutText(longestPath, url.split('?', 1)[0] ?? '');
  return `${method} ${path} from ${socket.remoteAddress ?? 'a closed connection'}`;
}
