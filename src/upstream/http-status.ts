// What an HTTP status says about a request, as a table: which fault it is, and whether the server
// can have acted on it. Statuses that a server gives before it looks at the message prove that
// nothing ran.

import { type Dispatched, Fault } from '../kernel/fault.ts';

/** Statuses with which a server turns a request away unread (contract.md 4). */
const unread = new Set([401, 405, 413, 415, 421, 429]);

export function statusFault(
  server: string,
  status: number,
  retryAfter: string | undefined,
  location: string | undefined,
): Fault {
  const dispatched: Dispatched = unread.has(status) ? 'no' : 'maybe';
  if (status === 401 || status === 403) {
    return new Fault(
      'auth_required',
      `${server} answered HTTP ${status}: put a valid credential into its headers in the config`,
      { server, dispatched },
    );
  }
  if (status >= 300 && status < 400) {
    return new Fault(
      'protocol_violation',
      `${server} redirects to ${location ?? 'another place'}; redirects are not followed, put the new url into the config`,
      { server, dispatched },
    );
  }
  // One caller's large arguments are no reason to leave the server alone.
  if (status === 413) {
    const detail = `${server} answered HTTP 413: the arguments are larger than it takes`;
    return new Fault('invalid_request', detail, { server, dispatched });
  }
  const retryAfterMs = secondsFrom(retryAfter);
  return new Fault('unavailable', `${server} answered HTTP ${status}`, {
    server,
    dispatched,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
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
