// Whether a window of `connect` has the same variables as the instance that it joins: the servers of the
// instance get the instance's values, so a window with another token or PATH has to be told. The values are
// secret and are never sent: the window sends a keyed hash of each, with a key that it makes for this one
// connection, and the instance compares them with the hashes of its own values.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { cutText } from '../kernel/text-cut.ts';
import { type Environment, passedOn } from '../supervise/process/start/environment.ts';
import { variablesNamedIn } from './connect/named-variables.ts';

export interface SentEnvironment {
  readonly key: string;
  readonly variables: { readonly name: string; readonly hash: string }[];
}

/** More are not compared: the greeting is one line of limited length. */
export const maxVariables = 300;
export const maxNameLength = 100;

/** They differ from terminal to terminal, and servers do not depend on them. */
const ofTerminals = /^(?:TERM|SHELL|USER|LOGNAME|LANG|LC_.*|TZ|TMPDIR|XDG_.*|HOLDFAST_.*)$/;

/** What of an environment reaches servers and matters to them, if this is the text of the config. */
export function comparedVariables(env: Environment, config: string): ReadonlyMap<string, string> {
  const named = variablesNamedIn(config);
  const all = Object.entries(passedOn(env, named)).filter(
    ([name]) => name.length <= maxNameLength && (named.includes(name) || !ofTerminals.test(name)),
  );
  const sorted = all.sort(([one], [other]) => (one < other ? -1 : 1));
  return new Map(sorted.slice(0, maxVariables));
}

export function sentEnvironment(variables: ReadonlyMap<string, string>): SentEnvironment {
  const key = randomBytes(32).toString('hex');
  const hashed = [...variables].map(([name, value]) => ({ name, hash: hashOf(key, name, value) }));
  return { key, variables: hashed };
}

/** The names of the variables that are not the same on both sides. */
export function differingNames(
  { key, variables }: SentEnvironment,
  own: ReadonlyMap<string, string>,
): readonly string[] {
  const theirs = new Map(variables.map(({ name, hash }) => [name, hash]));
  const names = [...new Set([...theirs.keys(), ...own.keys()])].sort();
  return names.filter((name) => {
    const [hash, value] = [theirs.get(name), own.get(name)];
    return hash === undefined || value === undefined || !isSame(hash, hashOf(key, name, value));
  });
}

/** A window may send any names: few are shown, none of them long, and how many more there are. */
const mostShown = 20;
const longestShown = 60;

export function shownNames(names: readonly string[]): readonly string[] {
  const shown = names.slice(0, mostShown).map((name) => cutText(longestShown, name));
  const more = names.length - shown.length;
  return more === 0 ? shown : [...shown, `and ${more} more`];
}

function hashOf(key: string, name: string, value: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(`${name}\0${value}`).digest('base64');
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
