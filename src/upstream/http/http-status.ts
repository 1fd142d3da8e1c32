// What an HTTP status says about a request, as a table: which fault it is, and whether the server
// can have acted on it. Statuses that a server gives before it looks at the message prove that
// nothing ran.

import { type Dispatched, Fault } from '../../kernel/fault.ts';
import type { HttpHeaders } from './http-client.ts';
import { answerProblem, mediaType, networkProblem, problemText } from './remote-words.ts';

/** Of whom is spoken. */
export interface Remote {
  readonly server: string;
  readonly url: URL;
}

/** Statuses with which a server turns a request away unread (contract.md 4). */
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
  // One caller's large arguments are no reason to leave the server alone.
  if (status === 413) {
    const tooLarge = `${server} answered HTTP 413: the arguments are larger than it takes`;
    return new Fault('invalid_request', tooLarge, { server, dispatched });
  }
  const retryAfterMs = secondsFrom(headers.get('retry-after'));
  return new Fault('unavailable', withCheck(detail), {
    server,
    dispatched,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** The network failed before anything was sent. */
export function unreachableFault({ server, url }: Remote, generation: number, error: Error): Fault {
  const detail = withCheck(problemText(server, networkProblem(url, error)));
  return new Fault('unavailable', detail, { server, generation });
}

/** A page for people came where an answer was due; undefined if it was none. */
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

/** It was not sent, for a shortage of our own: that says nothing of the server. */
export function shortageFault(
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
