// What a gateway over HTTP refuses to start with: settings that would give strangers what the config means to
// keep from them, and tokens that other users could read or replace. Each refusal is one line that says what to
// set. That an address other than loopback needs authentication is checked where it is listened on
// (downstream/http/access/listen-address.ts).

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../../kernel/errno.ts';
import { Fault } from '../../kernel/fault.ts';
import { isLoopback } from '../../kernel/loopback.ts';
import { isNatsAddress } from '../../nats/nats-address.ts';
import { shellWord } from '../shell-word.ts';

export interface OpenFront {
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** The names of tokens with roles that have not expired. */
  readonly tokens: readonly string[];
}

/** Throws a Fault if others could use a front without authentication by way of the store. */
export function assertSharedFront({ auth }: { readonly auth: string }, store: string): void {
  if (auth !== 'none' || !isNatsAddress(store)) return;
  throw refusal(
    '"store" is on a NATS server and "http.auth" is "none", so whoever can write to the NATS server could use this gateway; set "http.auth" to "token"',
  );
}

/** For a front without authentication. Throws a Fault unless only this machine can mean to use it. */
export function assertMeantOpen({ allowedHosts, allowedOrigins, tokens }: OpenFront): void {
  const host = allowedHosts.find((name) => !isLoopback(hostIn(name)));
  if (host !== undefined) {
    throw refusal(
      `"http.auth" is "none" and "http.allowedHosts" has ${JSON.stringify(host)}, so everyone who reaches that name could call every tool; set "http.auth" to "token", or remove the name`,
    );
  }
  const origin = allowedOrigins.find((one) => !isLoopback(hostIn(one.replace(/^.*:\/\//, ''))));
  if (origin !== undefined) {
    throw refusal(
      `"http.auth" is "none" and "http.allowedOrigins" has ${JSON.stringify(origin)}, so its pages could call every tool; set "http.auth" to "token", or remove the origin`,
    );
  }
  if (tokens.length > 0) {
    throw refusal(
      `"http.auth" is "none", so everyone on this machine could call every tool, although there are tokens with roles (${tokens.join(', ')}); set "http.auth" to "token", or revoke them with: holdfast token revoke NAME`,
    );
  }
}

/** Without the port and the brackets. */
function hostIn(place: string): string {
  return place.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

/** Who owns a file, and who may use it. */
export interface FileFacts {
  readonly uid: number;
  readonly mode: number;
}

/**
 * Throws a Fault if other users can read or change what is in these folders; folders that are not there
 * are fine, and so is whatever is no file in place of a record: it is no token, and the store reports it.
 */
export async function assertPrivateTokens(
  folders: readonly string[],
  ownUid: number | undefined,
): Promise<void> {
  if (ownUid === undefined) return;
  for (const folder of folders) {
    for (const path of [folder, ...(await recordsIn(folder))]) {
      const facts = await stat(path).catch(unlessGone);
      if (facts === undefined || (path !== folder && !facts.isFile())) continue;
      const problem = openness(facts, ownUid);
      if (problem !== undefined) throw refusal(openText(path, folder, problem));
    }
  }
}

/** Undefined if it is this user's alone. */
export function openness({ uid, mode }: FileFacts, ownUid: number): 'owner' | 'mode' | undefined {
  if (uid !== ownUid) return 'owner';
  return (mode & 0o077) === 0 ? undefined : 'mode';
}

function openText(path: string, folder: string, problem: 'owner' | 'mode'): string {
  if (problem === 'owner') {
    return `${path} belongs to another user, who could let anybody in; move ${folder} away, and start again`;
  }
  return `${path} is open to other users, who could let anybody in; set: chmod -R go= ${shellWord(folder)}`;
}

async function recordsIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(unlessGone);
  return (names ?? []).filter((name) => name.endsWith('.record')).map((name) => join(folder, name));
}

/** What cannot be read is reported by the store, and lets nobody in. */
function unlessGone(error: unknown): undefined {
  if (errnoOf(error) === undefined) throw error;
}

function refusal(text: string): Fault {
  return new Fault('invalid_request', `refusing to start: ${text}`);
}
