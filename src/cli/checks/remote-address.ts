// Finds out what is at the address of a remote server. One harmless request shows more than a
// failed handshake: whether the name exists, whether anything listens, what is wrong with the
// certificate, and what was answered instead of MCP. The messages are the same as everywhere else
// for remote servers.

import type { RemoteServerConfig } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { HttpClient, HttpRequest } from '../../upstream/http/http-client.ts';
import {
  answerProblem,
  mediaType,
  networkProblem,
  type RemoteAnswer,
  type RemoteProblem,
  shownAddress,
} from '../../upstream/http/remote-words.ts';

const longestProbeMs = 5_000;

/** Undefined if an MCP server may be there. */
export async function addressProblem(
  name: string,
  server: RemoteServerConfig,
  http: HttpClient,
  clock: Clock,
): Promise<RemoteProblem | undefined> {
  const url = new URL(server.url);
  const outcome = await probe(questionFor(server), http, clock);
  switch (outcome.kind) {
    case 'silent':
      return {
        text: `${shownAddress(url)} did not answer within ${longestProbeMs / 1_000} s`,
        remedy: 'check the address, and whether that server is overloaded',
      };
    case 'failed':
      return networkProblem(url, outcome.error);
    case 'answered':
      return answerProblem(name, url, outcome);
  }
}

/** A request that has no effect on any server at any time. */
const harmless = '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}';

function questionFor({ url: text, type, headers }: RemoteServerConfig): HttpRequest {
  const url = new URL(text);
  const accept = 'application/json, text/event-stream';
  if (type === 'sse') return { url, method: 'GET', headers: { ...headers, accept }, body: null };
  const all = { ...headers, accept, 'content-type': 'application/json' };
  return { url, method: 'POST', headers: all, body: harmless };
}

type Probe =
  | ({ readonly kind: 'answered' } & RemoteAnswer)
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'silent' };

function probe(request: HttpRequest, http: HttpClient, clock: Clock): Promise<Probe> {
  return new Promise((resolve) => {
    const end = (outcome: Probe) => {
      timer[Symbol.dispose]();
      resolve(outcome);
      inFlight.abort();
    };
    const inFlight = http.send(request, {
      sent: () => {},
      response: (status, headers) => {
        const location = headers.get('location');
        end({ kind: 'answered', status, type: mediaType(headers), location });
      },
      data: () => {},
      ended: () => {},
      failed: (error) => end({ kind: 'failed', error }),
    });
    const timer = clock.after(longestProbeMs, () => end({ kind: 'silent' }));
  });
}
