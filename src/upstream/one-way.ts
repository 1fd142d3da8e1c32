// A request over HTTP whose answer tells nothing that we need: a notification, an answer of ours, the
// end of a session. It is taken, or it is not, and either way it is over.

import type { HttpClient, HttpInFlight, HttpRequest } from './http-client.ts';

export interface OneWay {
  readonly inFlight: HttpInFlight;
  /** Resolves when the server has taken it, or never will. */
  readonly over: Promise<void>;
}

export function sendOneWay(http: HttpClient, request: HttpRequest): OneWay {
  const { promise: over, resolve } = withResolvers();
  const listener = {
    sent: () => {},
    response: () => {},
    data: () => {},
    ended: resolve,
    failed: () => resolve(),
  };
  return { inFlight: http.send(request, listener), over };
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
