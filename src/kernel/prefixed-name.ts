// The spelling of `server__tool`, so that every client accepts it: at most 64 characters out of A-Z
// a-z 0-9 _ . -, which is what the strictest model interfaces allow. A name that does not fit is
// changed, and then ends in a hash of server and tool, because two different names may become equal
// when they are changed. The hash depends on nothing else: the name is the same after a restart and
// whatever other servers there are. The name is never split again; naming.ts stores which server
// owns it.

import { hash } from 'node:crypto';

export const maxNameLength = 64;
const separator = '__';
/**
 * 40 bits: an accidental collision is practically impossible, and in a deliberate one only the
 * later name is lost.
 */
const hashLength = 10;
const stemLength = maxNameLength - 1 - hashLength;
const notAllowed = /[^A-Za-z0-9_.-]/gu;

/** `server__tool` unchanged where that is possible, else with its hash. */
export function prefixedName(server: string, name: string): string {
  return fits(server, name) ? server + separator + name : hashedName(server, name, 0);
}

/** Needs no change: the characters are allowed and there are not too many. */
export function fits(server: string, name: string): boolean {
  const length = server.length + separator.length + name.length;
  return length <= maxNameLength && server.search(notAllowed) < 0 && name.search(notAllowed) < 0;
}

/** With the hash in any case; a higher attempt gives a different one. */
export function hashedName(server: string, name: string, attempt: number): string {
  // As JSON, so that no two pairs give the same text, not even with half surrogate pairs in them.
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
