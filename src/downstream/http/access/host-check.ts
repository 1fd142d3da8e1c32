// Checks where a request comes from: Host, Origin and Sec-Fetch-Site. A page on the web can make a browser send requests to
// this machine by giving its own name our address (DNS rebinding). Such a request still has the
// page's name as its Host, and the page as its Origin: so the Host must be ours, and an Origin,
// which only browsers send, must be our own or listed in the config. Another port of this machine
// is another origin: a program there is not ours. What a page merely loads (an image, a script, a
// link) has no Origin, but the browser says that it is for another site. Loopback has many spellings; only
// those that clients use are accepted. This is the first check of every request, on every route.

import { isIP } from 'node:net';

export interface HostRules {
  /** The host that is listened on. */
  readonly host: string;
  /** Host names, with a port or without. */
  readonly allowedHosts: readonly string[];
  /** Whole origins, such as https://app.example.com. */
  readonly allowedOrigins: readonly string[];
}

/** A host name or address, an IPv6 address in brackets, and a port if there is one. */
const hostHeader = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/;
/** This machine, as its clients write it. */
const plainLoopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);
/** A page of our own, and nobody: the user, or a program. */
const ownSites: ReadonlySet<string> = new Set(['same-origin', 'none']);
const originHeader = /^https?:\/\/([^/?#@\s]+)$/;

/** Accepted hosts are remembered, so that each is parsed only once. */
const mostRemembered = 64;

export class HostCheck {
  readonly #rules: HostRules;
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  /** At most `mostRemembered`. */
  readonly #passed = new Set<string>();

  constructor(rules: HostRules) {
    this.#rules = rules;
    this.#hosts = new Set(rules.allowedHosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(rules.allowedOrigins.map((origin) => origin.toLowerCase()));
  }

  /** What is wrong with the Host, if something is. `ownAddress` is the connection's end on our side. */
  hostProblem(host: string | undefined, ownAddress: string | undefined): string | undefined {
    if (host !== undefined && this.#passed.has(host)) return undefined;
    if (host === undefined) return 'the request has no Host header';
    if (!this.#isOurs(host.toLowerCase(), ownAddress)) {
      return `the Host "${host}" is not served here: a host other than this machine must be listed in "http.allowedHosts"`;
    }
    if (this.#passed.size < mostRemembered) this.#passed.add(host);
    return undefined;
  }

  /** What is wrong with the Origin, if there is one and something is. `host` has passed. */
  originProblem(origin: string | undefined, host: string | undefined): string | undefined {
    if (origin === undefined || this.isListed(origin)) return undefined;
    const page = placeIn(originHeader.exec(origin.toLowerCase())?.[1]);
    const here = placeIn(host?.toLowerCase());
    // The port is the one the client used: a tunnel may have given us another.
    const isOwn = page !== undefined && plainLoopback.has(page.name) && page.port === here?.port;
    if (isOwn) return undefined;
    return `pages of the origin "${origin}" may not use this server: an origin other than this server's own must be listed in "http.allowedOrigins"`;
  }

  /** What is wrong with the Sec-Fetch-Site of a request without an Origin, if something is. */
  siteProblem(site: string | undefined, origin: string | undefined): string | undefined {
    if (site === undefined || origin !== undefined || ownSites.has(site)) return undefined;
    return `a page of another site may not load this (Sec-Fetch-Site: ${site})`;
  }

  /** Whether the operator has listed this origin. Only those may read responses in a browser. */
  isListed(origin: string): boolean {
    return this.#origins.has(origin.toLowerCase());
  }

  #isOurs(host: string, ownAddress: string | undefined): boolean {
    const name = placeIn(host)?.name;
    if (name === undefined) return false;
    if (plainLoopback.has(name) || this.#hosts.has(host) || this.#hosts.has(bracketed(name)))
      return true;
    const { host: listened } = this.#rules;
    // An address cannot be rebound: it is safe if a client really reached us by it.
    const isEverywhere = listened === '0.0.0.0' || listened === '::';
    return name === (isEverywhere ? ownAddress?.replace(/^::ffff:/, '') : listened.toLowerCase());
  }
}

interface Place {
  /** A name or address, without brackets. */
  readonly name: string;
  /** As it is written; undefined where it is the scheme's own. */
  readonly port: string | undefined;
}

/** The parts of a host; undefined if it is none. */
function placeIn(host: string | undefined): Place | undefined {
  const [, name, port] = hostHeader.exec(host ?? '') ?? [];
  if (name === undefined || !name.startsWith('['))
    return name === undefined ? undefined : { name, port };
  const address = name.slice(1, -1);
  return isIP(address) === 6 ? { name: address, port } : undefined;
}

function bracketed(name: string): string {
  return name.includes(':') ? `[${name}]` : name;
}
