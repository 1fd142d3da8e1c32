// Messages about problems with a remote server, with the remedy: what it answered instead of MCP,
// or why there is no connection. The doctor, calls, lists and the gateway's own lines use these
// messages. Everything is decided by error codes, statuses and content types.

import { ownValue } from '../../kernel/own-value.ts';
import type { HttpHeaders } from './http-client.ts';

/** A problem that prevents a client from using MCP there. */
export interface RemoteProblem {
  readonly text: string;
  readonly remedy: string;
}

/** The address without what may be a secret in it. */
export function shownAddress({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

/** Both in one line of a fault; the name of the server comes first. */
export function problemText(server: string, { text, remedy }: RemoteProblem): string {
  return `${server}: ${text}; ${remedy}`;
}

// --- what an answer says -------------------------------------------------------------------

export interface RemoteAnswer {
  readonly status: number;
  /** A media type. */
  readonly type: string;
  readonly location: string | undefined;
}

/** In lower case and without parameters; empty if there is none. */
export function mediaType(headers: HttpHeaders): string {
  return headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Undefined if the answer may come from an MCP server. */
export function answerProblem(
  name: string,
  url: URL,
  { status, type, location }: RemoteAnswer,
): RemoteProblem | undefined {
  const shown = shownAddress(url);
  const said = `${shown} answers ${status}`;
  if (status === 401 || status === 403) {
    return {
      text: `${said}: it requires ${status === 401 ? 'a login' : 'other credentials'}`,
      remedy: `set "headers" of '${name}', such as { "Authorization": "Bearer \${env:TOKEN}" }`,
    };
  }
  if (status >= 300 && status < 400) {
    return {
      text: `${shown} redirects (${status}) to ${location ?? 'another address'}, and redirects are not followed`,
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
    return { text: `${said}: too many requests`, remedy: 'wait before the next attempt' };
  }
  if (status >= 500) {
    return {
      text: `${said}: the server there has an internal error`,
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
    what: 'TLS: the port does not use TLS',
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
  what: 'the connection was closed',
  remedy: 'check the port in its "url" (https:// or http://), and any proxy in between',
};

/** No connection could be opened, or it was closed. */
export function networkProblem(url: URL, error: Error): RemoteProblem {
  const code = 'code' in error ? String(error.code) : error.name;
  const { what, remedy } = networkWords(code);
  return { text: `${shownAddress(url)} cannot be reached: ${what} (${code})`, remedy };
}

/** The codes of Node, OpenSSL and undici. */
export function networkWords(code: string): NetworkWords {
  const known = ownValue(byCode, code);
  if (known) return known;
  if (/SELF_SIGNED|ISSUER|UNABLE_TO_VERIFY|CERT_UNTRUSTED/.test(code)) return untrusted;
  if (/^ERR_SSL|^ERR_TLS|^CERT_|^EPROTO$/.test(code)) return otherTls;
  if (/^ECONNRESET$|^EPIPE$|^UND_ERR_SOCKET$|^HPE_/.test(code)) return cutOff;
  return {
    what: 'a network error',
    remedy: 'check its "url", the network and any proxy in between',
  };
}
