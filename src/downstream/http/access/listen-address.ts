// The address to listen on: how it is written in the config, whether only this machine can reach
// it, and the messages when listening fails. A front without authentication is for this machine
// only; that is checked here, before a socket exists, and once more with the address that the
// system really gave us.

import { isIP } from 'node:net';
import { errnoOf } from '../../../kernel/errno.ts';
import { Fault } from '../../../kernel/fault.ts';
import { isLoopback } from '../../../kernel/loopback.ts';
import { shortageOf } from '../../../kernel/shortage.ts';

export interface ListenAddress {
  /** A name, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** "HOST:PORT", an IPv6 address in brackets. */
export function listenAddress(text: string): ListenAddress {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  const isIpv6 = bracketed === undefined || isIP(bracketed) === 6;
  if (host === undefined || port > 65_535 || !isIpv6) {
    throw new Fault(
      'invalid_request',
      `cannot listen on "${text}": it is not HOST:PORT; write for example ${examples(text)}`,
    );
  }
  return { host, port };
}

/** With the port that was meant, if one can be seen. */
function examples(text: string): string {
  const meant = Number(/(?:^|:)(\d{1,5})$/.exec(text)?.[1] ?? 0);
  const port = meant > 0 && meant <= 65_535 ? meant : 4_100;
  return `127.0.0.1:${port} or [::1]:${port}`;
}

export function addressText({ host, port }: ListenAddress): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

const loopbackOf: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Where a client on this machine finds it: a wildcard address is reached as loopback. */
export function reachedAt({ host, port }: ListenAddress): string {
  return addressText({ host: loopbackOf.get(host) ?? host, port });
}

export function urlOf(address: ListenAddress): string {
  return `http://${reachedAt(address)}/mcp`;
}

/** Without authentication only this machine may be served. */
export function assertGuarded(address: ListenAddress, auth: 'token' | 'none'): void {
  if (auth === 'token' || isLoopback(address.host)) return;
  throw new Fault(
    'invalid_request',
    `refusing to listen on ${addressText(address)} without authentication: everyone who can reach it could call every tool; set "http.auth" to "token", or listen on 127.0.0.1`,
  );
}

/** Why listening failed, by its code. `holder`: the gateway that has the port already, if it is one. */
export function listenFault(
  address: ListenAddress,
  error: unknown,
  holder?: { readonly version: string },
  command: 'serve' | 'broker' = 'serve',
): Fault {
  const at = addressText(address);
  const listen = `holdfast ${command} --listen`;
  const freePort = `${listen} ${addressText({ ...address, port: 0 })}`;
  const code = errnoOf(error);
  switch (code) {
    case 'EADDRINUSE':
      return fault(
        'unavailable',
        holder === undefined
          ? `cannot listen on ${at}: port ${address.port} is in use by another program; choose another port, or take any free one: ${freePort}`
          : `cannot listen on ${at}: port ${address.port} is in use by another Holdfast gateway (version ${holder.version}); let clients use that one, or take any free port: ${freePort}`,
      );
    case 'EACCES':
      return fault(
        'unavailable',
        `cannot listen on ${at}: this user may not use that port; choose one above 1023, or take any free one: ${freePort}`,
      );
    case 'EADDRNOTAVAIL':
      return fault(
        'invalid_request',
        `cannot listen on ${at}: this machine has no such address; choose one it has, such as: ${listen} 127.0.0.1:${address.port}`,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return fault(
        'invalid_request',
        `cannot listen on ${at}: the name cannot be resolved; choose an address, such as: ${listen} 127.0.0.1:${address.port}`,
      );
    default:
      return fault(
        shortageOf(error) === undefined ? 'unavailable' : 'overloaded',
        `cannot listen on ${at}: ${shortageOf(error) ?? code ?? 'unknown error'}; choose another address with: ${listen} HOST:PORT`,
      );
  }

  function fault(kind: 'unavailable' | 'overloaded' | 'invalid_request', detail: string): Fault {
    return new Fault(kind, detail, {}, error);
  }
}
