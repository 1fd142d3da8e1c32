// What an HTTP status means for a request, as a table: which fault it is, and whether the server
// can have acted on it. Statuses that a server gives before it reads the message prove that nothing
// ran.

import { type Dispatched, Fault } from '../../kernel/fault.ts';
import { shortageOf } from '../../kernel/shortage.ts';
import type { HttpHeaders } from './http-client.ts';
import { answerProblem, mediaType, networkProblem, problemText } from './remote-words.ts';

/** Of whom is spoken. */
export interface Remote {
  readonly server: string;
  readonly url: URL;
}

/** Statuses with which a server refuses a request unread (contract.md 4). */
const unread = new Set([401, 405, 413, 415, 421, 429]);

export function statusFault({ server, url }: Remote, status: number, headers: HttpHeaders): Fault {
  const dispatched: Dispatched = unread.has(status) ? 'no' : 'maybe';
  const answer = { status, type: mediaType(headers), location: headers.get('location') };
  const problem = answerProblem(server, url, answer);
  const detail = problem ? problemText(server, problem) : `${server} answered HTTP ${status}`;
  if (status === 401 || status === 403) {
    return new Fault('auth_required', detail, { server, dispatched });
  }
  if (status >= 300 && status < 400) {
    return new Fault('protocol_violation', detail, { server, dispatched });
  }
  // One caller's large arguments must not count against the server.
  if (status === 413) {
    const tooLarge = `${server} answered HTTP 413: the arguments are larger than it accepts`;
    return new Fault('invalid_request', tooLarge, { server, dispatched });
  }
  const retryAfterMs = secondsFrom(headers.get('retry-after'));
  return new Fault('unavailable', withCheck(detail), {
    server,
    dispatched,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/**
 * The network failed. `isUnsent`: nothing was sent; `isUnreached`: there was never a connection.
 */
export function brokenFault(
  remote: Remote,
  generation: number,
  error: Error,
  isUnsent: boolean,
  isUnreached = isUnsent,
): Fault {
  const { server } = remote;
  const shortage = isUnsent ? shortageOf(error) : undefined;
  if (shortage !== undefined) return shortageFault(server, generation, shortage, error);
  if (isUnreached) return unreachableFault(remote, generation, error);
  const code = (error as NodeJS.ErrnoException).code ?? error.name;
  const detail = `${server} dropped the connection (${code})`;
  return new Fault('unavailable', detail, { server, generation });
}

/** The network failed before anything was sent. */
function unreachableFault({ server, url }: Remote, generation: number, error: Error): Fault {
  const detail = withCheck(problemText(server, networkProblem(url, error)));
  return new Fault('unavailable', detail, { server, generation });
}

/** An HTML page was returned instead of an answer; undefined if it was not. */
export function pageFault(
  { server, url }: Remote,
  generation: number,
  headers: HttpHeaders,
): Fault | undefined {
  const page = { status: 200, type: mediaType(headers), location: undefined };
  const problem = answerProblem(server, url, page);
  if (problem === undefined) return undefined;
  return new Fault('unavailable', withCheck(problemText(server, problem)), { server, generation });
}

function withCheck(detail: string): string {
  return `${detail}; check with: holdfast doctor`;
}

/**
 * It was not sent because of a resource shortage of the host, which says nothing about the server.
 */
function shortageFault(
  server: string,
  generation: number,
  shortage: string,
  cause: unknown,
): Fault {
  const detail = `${server} cannot be reached: ${shortage}`;
  return new Fault('overloaded', detail, { server, generation, dispatched: 'no' }, cause);
}

function secondsFrom(header: string | undefined): number | undefined {
  const seconds = header ? Number(header) : Number.NaN;
  return Number.isFinite(seconds) && seconds >= 0 ? Math.round(seconds * 1000) : undefined;
}
