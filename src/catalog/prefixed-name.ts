// How `server__tool` is spelled so that every client can take it: at most 64 characters out of
// A-Z a-z 0-9 _ . -, which is what the strictest model interfaces allow. A name that does not fit is
// changed, and then it ends in a hash of server and tool, because two names may become one by being
// changed. The hash knows nothing else: the name is the same after a restart and whatever other
// servers there are. The spelling is never taken apart again; who owns a name is kept in naming.

import { hash } from 'node:crypto';

export const maxNameLength = 64;
const separator = '__';
/** 40 bits: no two of our own meet by chance, and on purpose only a later one loses its name. */
const hashLength = 10;
const stemLength = maxNameLength - 1 - hashLength;
const notAllowed = /[^A-Za-z0-9_.-]/gu;

/** `server__tool` as it stands where that is possible, else with its hash. */
export function prefixedName(server: string, name: string): string {
  return fits(server, name) ? server + separator + name : hashedName(server, name, 0);
}

/** Needs no change: the characters are allowed and there are not too many. */
export function fits(server: string, name: string): boolean {
  const length = server.length + separator.length + name.length;
  return length <= maxNameLength && server.search(notAllowed) < 0 && name.search(notAllowed) < 0;
}

/** With the hash in any case; a higher attempt gives another one. */
export function hashedName(server: string, name: string, attempt: number): string {
  // As JSON, so that no two pairs are the same text, not even with half characters in them.
  const text = JSON.stringify(attempt === 0 ? [server, name] : [server, name, attempt]);
  return `${stemOf(server + separator + name)}_${hash('sha256', text).slice(0, hashLength)}`;
}

/** What every prefixed name of this server begins with. */
export function prefixOf(server: string): string {
  return stemOf(server + separator);
}

function stemOf(text: string): string {
  return text.replace(notAllowed, '_').slice(0, stemLength);
}
