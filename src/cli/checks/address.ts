// What stands behind the address of a remote server, in words. One harmless request tells more than a
// failed handshake does: whether the name exists, whether anybody listens, what is wrong with the
// certificate, and what was answered instead of MCP. All of it is decided by error codes, statuses and
// content types.

import type { RemoteServerConfig } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ownValue } from '../../kernel/own-value.ts';
import type { HttpClient, HttpHeaders, HttpRequest } from '../../upstream/http-client.ts';

/** Something that keeps a client from speaking MCP there. */
export interface AddressProblem {
  readonly text: string;
  readonly remedy: string;
}

const longestProbeMs = 5_000;

/** The address without what may be a secret in it. */
export function shownAddress(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** Undefined if nothing speaks against an MCP server there. */
export async function addressProblem(
  name: string,
  server: RemoteServerConfig,
  http: HttpClient,
  clock: Clock,
): Promise<AddressProblem | undefined> {
  const shown = shownAddress(server.url);
  const outcome = await probe(questionFor(server), http, clock);
  switch (outcome.kind) {
    case 'silent':
      return {
        text: `${shown} did not answer within ${longestProbeMs / 1_000} s`,
        remedy: 'check the address, and whether the server there is busy',
      };
    case 'failed': {
      const { what, remedy } = networkWords(outcome.code);
      return { text: `${shown} cannot be reached: ${what} (${outcome.code})`, remedy };
    }
    case 'answered':
      return answerProblem(name, shown, outcome);
  }
}

// --- what an answer says -------------------------------------------------------------------

interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  readonly type: string;
  readonly location: string | undefined;
}

function answerProblem(
  name: string,
  shown: string,
  { status, type, location }: Answered,
): AddressProblem | undefined {
  const said = `${shown} answers ${status}`;
  if (status === 401 || status === 403) {
    return {
      text: `${said}: it wants ${status === 401 ? 'a login' : 'other credentials'}`,
      remedy: `set "headers" of '${name}', such as { "Authorization": "Bearer \${env:TOKEN}" }`,
    };
  }
  if (status >= 300 && status < 400) {
    return {
      text: `${shown} redirects (${status}) to ${location ?? 'another place'}, and redirects are not followed`,
      remedy: `put the new address into "url" of '${name}'`,
    };
  }
  if (status === 404 || status === 410) {
    return {
      text: `${said}: there is nothing at this path`,
      remedy: `correct the path in "url" of '${name}'; many servers are at /mcp or /sse`,
    };
  }
  if (status === 429) {
    return { text: `${said}: too many requests`, remedy: 'wait, then run: holdfast doctor' };
  }
  if (status >= 500) {
    return {
      text: `${said}: the server there fails`,
      remedy: 'look at the log of that server, or ask whoever runs it',
    };
  }
  if (type === 'text/html') {
    return {
      text: `${said} with a web page (HTML), not with MCP`,
      remedy: `correct "url" of '${name}': it must be the address of the MCP endpoint`,
    };
  }
  return undefined;
}

// --- what a broken connection says ---------------------------------------------------------

interface NetworkWords {
  readonly what: string;
  readonly remedy: string;
}

const byCode: Readonly<Record<string, NetworkWords>> = {
  ENOTFOUND: { what: 'the host name does not exist', remedy: 'check the host name in its "url"' },
  EAI_AGAIN: {
    what: 'the host name cannot be resolved now',
    remedy: 'check the host name in its "url", and the DNS of this machine',
  },
  ECONNREFUSED: {
    what: 'nothing listens there, the connection is refused',
    remedy: 'start the server there, or correct the port in its "url"',
  },
  UND_ERR_CONNECT_TIMEOUT: {
    what: 'no connection within 5 s',
    remedy: 'check the host and port in its "url", and any firewall in between',
  },
  CERT_HAS_EXPIRED: {
    what: 'TLS: its certificate has expired',
    remedy: 'renew the certificate of that server',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    what: 'TLS: its certificate is for another host name',
    remedy: 'use a host name of the certificate in its "url"',
  },
  ERR_SSL_WRONG_VERSION_NUMBER: {
    what: 'TLS: the port does not speak TLS',
    remedy: 'write http:// instead of https:// in its "url", or correct the port',
  },
};

const untrusted: NetworkWords = {
  what: 'TLS: its certificate is not trusted here',
  remedy: 'trust its issuer: set NODE_EXTRA_CA_CERTS to the file with its certificate',
};
const otherTls: NetworkWords = {
  what: 'TLS: no secure connection could be made',
  remedy: 'check https:// and the port in its "url", and the TLS settings of that server',
};
const cutOff: NetworkWords = {
  what: 'the connection was cut off',
  remedy: 'check the port in its "url" (https:// or http://), and any proxy in between',
};

/** The codes of Node, OpenSSL and undici. */
export function networkWords(code: string): NetworkWords {
  const known = ownValue(byCode, code);
  if (known) return known;
  if (/SELF_SIGNED|ISSUER|UNABLE_TO_VERIFY|CERT_UNTRUSTED/.test(code)) return untrusted;
  if (/^ERR_SSL|^ERR_TLS|^CERT_|^EPROTO$/.test(code)) return otherTls;
  if (/^ECONNRESET$|^EPIPE$|^UND_ERR_SOCKET$|^HPE_/.test(code)) return cutOff;
  return {
    what: 'the network fails',
    remedy: 'check its "url", the network and any proxy in between',
  };
}

// --- asking --------------------------------------------------------------------------------

/** What every server may be asked at any time without anything coming of it. */
const harmless = '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}';

function questionFor({ url: text, type, headers }: RemoteServerConfig): HttpRequest {
  const url = new URL(text);
  const accept = 'application/json, text/event-stream';
  if (type === 'sse') return { url, method: 'GET', headers: { ...headers, accept }, body: null };
  const all = { ...headers, accept, 'content-type': 'application/json' };
  return { url, method: 'POST', headers: all, body: harmless };
}

type Probe =
  | Answered
  | { readonly kind: 'failed'; readonly code: string }
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
      response: (status, headers) => end({ kind: 'answered', status, ...contentOf(headers) }),
      data: () => {},
      ended: () => {},
      failed: (error) => end({ kind: 'failed', code: codeOf(error) }),
    });
    const timer = clock.after(longestProbeMs, () => end({ kind: 'silent' }));
  });
}

function contentOf(headers: HttpHeaders): Pick<Answered, 'type' | 'location'> {
  const type = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return { type, location: headers.get('location') };
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.name;
}
