// Which values of a server's entry must not be shown: the values of its variables and headers, the
// parts of its address other than the path, and the values of variables in any other key. The
// config does not say which of them are secrets, so all of them count, except variables that every
// program shares and people need to read.

import type { Secret } from '../kernel/redactor.ts';
import { natsPlaceIn } from '../nats/nats-address.ts';
import type { ServerConfig } from './schema.ts';

/** A variable that occurs as `${NAME}` in an entry. */
export interface UsedVariable {
  readonly name: string;
  readonly value: string;
}

/**
 * By the finished entry, which lives as long as its server; the entry itself does not say where its
 * values came from.
 */
const usedIn = new WeakMap<ServerConfig, readonly UsedVariable[]>();

export function noteVariables(server: ServerConfig, used: readonly UsedVariable[]): void {
  if (used.length > 0) usedIn.set(server, used);
}

const harmless =
  /^(?:PATH|HOME|USER|SHELL|TERM|LOGNAME|LANG|LC_.*|TZ|TMPDIR|SSL_CERT_.*|NODE_EXTRA_CA_CERTS|XDG_.*|NODE_ENV|PWD)$/;
/** Of these only the password matters. */
const proxies = /_PROXY$/i;

/** `environment` is everything that its process sees; empty for a remote server. */
export function secretsOf(
  server: ServerConfig,
  environment: Readonly<Record<string, string>>,
): readonly Secret[] {
  const used = (usedIn.get(server) ?? []).flatMap(({ name, value }) => ofVariable(name, value));
  if (server.type === 'stdio') {
    return [
      ...Object.entries(environment).flatMap(([name, value]) => ofVariable(name, value)),
      ...used,
    ];
  }
  const headers = Object.entries(server.headers).flatMap(([name, value]) => ofHeader(name, value));
  return [...headers, ...ofAddress(server.url, 'url'), ...used];
}

function ofVariable(name: string, value: string): readonly Secret[] {
  if (harmless.test(name)) return [];
  const label = `env ${name}`;
  return proxies.test(name) ? ofAddress(value, label) : secretsIn(label, value);
}

/** Of the address of a store: its password, or the seed in the place of a user. */
export function storeSecrets(store: string): readonly Secret[] {
  const { secret } = natsPlaceIn(store) ?? {};
  return secret === undefined
    ? []
    : [{ name: 'store', value: secret }, ...ofAddress(store, 'store')];
}

/** A value that must not be shown, and its parts if it is an address. */
export function secretsIn(name: string, value: string): readonly Secret[] {
  return [{ name, value }, ...ofAddress(value, name)];
}

/** The credential also without its scheme. */
function ofHeader(name: string, value: string): readonly Secret[] {
  const label = `header ${name}`;
  const credential = /^\S+ +(.+)$/.exec(value)?.[1];
  return [value, ...(credential === undefined ? [] : [credential])].map((text) => {
    return { name: label, value: text };
  });
}

/** What an address may contain besides a location: a password, and the values of its query. */
function ofAddress(text: string, name: string): readonly Secret[] {
  if (!URL.canParse(text)) return [];
  const { password, searchParams } = new URL(text);
  const passwords = password === '' ? [] : [password, decoded(password)];
  return [...passwords, ...searchParams.values()].map((value) => ({ name, value }));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign without two hexadecimal digits is literal.
    return text;
  }
}
