// Names and addresses that only this machine can reach.

import { isIP } from 'node:net';

/** A host as a config or an address has it; IPv6 with or without brackets. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  if (name === 'localhost' || name === '::1') return true;
  const ipv4 = name.startsWith('::ffff:') ? name.slice(7) : name;
  return isIP(ipv4) === 4 && ipv4.startsWith('127.');
}
