// An HTTP request whose response carries no information that we need: a notification, an answer of
// ours, the end of a session. It is accepted or not, and then it is over; one that hangs is
// abandoned at its deadline, so that a server that never responds cannot accumulate them.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import type { HttpClient, HttpInFlight, HttpRequest } from './http-client.ts';

/** How long a server may take to accept a message without an answer. */
export const oneWayMs = 30_000;

export interface OneWay {
  readonly inFlight: HttpInFlight;
  /**
   * Resolves when the server has accepted it, or never will; not after an abort, which its owner
   * knows of.
   */
  readonly over: Promise<void>;
}

export function sendOneWay(
  http: HttpClient,
  request: HttpRequest,
  clock: Clock,
  deadlineMs = oneWayMs,
): OneWay {
  let resolve = () => {};
  const over = new Promise<void>((settle) => {
    resolve = settle;
  });
  const finish = () => {
    deadline[Symbol.dispose]();
    resolve();
  };
  const abort = () => {
    deadline[Symbol.dispose]();
    sent.abort();
  };
  const expire = () => {
    sent.abort();
    resolve();
  };
  const deadline = clock.after(deadlineMs, expire, true);
  const sent = http.send(request, {
    ...{ sent: ignored, response: ignored, data: ignored },
    ...{ ended: finish, failed: finish },
  });
  return { inFlight: { abort }, over };
}
