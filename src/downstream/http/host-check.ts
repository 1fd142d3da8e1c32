// May a request that says it is for this host, from that page, be answered at all? A page on the web
// can make a browser send requests to this machine by giving its own name our address (DNS
// rebinding). Such a request still carries the page's name as its Host, and the page as its Origin:
// so the Host must be ours, and an Origin, which only browsers send, must be of this machine or
// listed in the config. This is asked before anything else of every request, on every route.

import { isIP } from 'node:net';
import { isLoopback } from './address.ts';

export interface HostRules {
  /** The host that is listened on. */
  readonly host: string;
  /** Host names, with a port or without. */
  readonly allowedHosts: readonly string[];
  /** Whole origins, such as https://app.example.com. */
  readonly allowedOrigins: readonly string[];
}

/** A host name or address, an IPv6 address in brackets, and a port if there is one. */
const hostHeader = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/;
const originHeader = /^https?:\/\/([^/?#@\s]+)$/;

/** Hosts that have passed are remembered, so that each is taken apart only once. */
const mostRemembered = 64;

export class HostCheck {
  readonly #rules: HostRules;
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
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

  /** What is wrong with the Origin, if there is one and something is. */
  originProblem(origin: string | undefined): string | undefined {
    if (origin === undefined || this.isListed(origin)) return undefined;
    const host = originHeader.exec(origin.toLowerCase())?.[1];
    const name = host === undefined ? undefined : nameIn(host);
    if (name !== undefined && isLoopback(name)) return undefined;
    return `pages of the origin "${origin}" may not use this server: an origin other than this machine must be listed in "http.allowedOrigins"`;
  }

  /** Is this origin one that the operator has named? Only those may read answers in a browser. */
  isListed(origin: string): boolean {
    return this.#origins.has(origin.toLowerCase());
  }

  #isOurs(host: string, ownAddress: string | undefined): boolean {
    const name = nameIn(host);
    if (name === undefined) return false;
    if (isLoopback(name) || this.#hosts.has(host) || this.#hosts.has(bracketed(name))) return true;
    const { host: listened } = this.#rules;
    // An address cannot be rebound: it is safe where a client really reached us by it.
    const isEverywhere = listened === '0.0.0.0' || listened === '::';
    return name === (isEverywhere ? ownAddress?.replace(/^::ffff:/, '') : listened.toLowerCase());
  }
}

/** The name or address in a host, without its port and brackets; undefined if it is no host. */
function nameIn(host: string): string | undefined {
  const name = hostHeader.exec(host)?.[1];
  if (name === undefined || !name.startsWith('[')) return name;
  const address = name.slice(1, -1);
  return isIP(address) === 6 ? address : undefined;
}

function bracketed(name: string): string {
  return name.includes(':') ? `[${name}]` : name;
}
