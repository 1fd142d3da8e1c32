// Which calls of the audit log a command asks for: those of a principal, by the name or the id of its token, and
// those of a server. It notes which principals and servers the log has, so that a name that nobody knows can
// be told apart from one without calls.

import type { AuditEntry } from '../audit/recent.ts';
import { nearestWord } from '../config/nearest-word.ts';
import { Fault } from '../kernel/fault.ts';

export interface AuditWish {
  readonly principal?: string | undefined;
  readonly server?: string | undefined;
}

/** What is known besides the log. */
export interface KnownNames {
  /** Names and ids of tokens. */
  readonly tokens: readonly string[];
  readonly servers: readonly string[];
}

const tokenPrefix = 'token:';

export class AuditFilter {
  readonly #principal: string | undefined;
  readonly #server: string | undefined;
  /** One for each that the log has; until the command has ended. */
  readonly #principals = new Set<string>();
  /** One for each that the log has; until the command has ended. */
  readonly #servers = new Set<string>();

  constructor({ principal, server }: AuditWish) {
    this.#principal = principal && plain(principal);
    this.#server = server;
  }

  readonly isWanted = ({ principal, token, server }: AuditEntry): boolean => {
    this.#principals.add(plain(principal));
    if (token !== null) this.#principals.add(token);
    if (server !== null) this.#servers.add(server);
    const isTheirs =
      this.#principal === undefined ||
      this.#principal === plain(principal) ||
      this.#principal === token;
    return isTheirs && (this.#server === undefined || this.#server === server);
  };

  /** After all calls were read. Throws a Fault for a name that neither the log nor anything else has. */
  assertKnown({ tokens, servers }: KnownNames): void {
    const principals = ['local', ...tokens, ...this.#principals];
    assertIn(this.#principal, principals, 'token', 'holdfast token list');
    assertIn(this.#server, [...servers, ...this.#servers], 'server', 'holdfast status');
  }
}

/** A token may be named with or without the kind of its credential. */
function plain(principal: string): string {
  return principal.startsWith(tokenPrefix) ? principal.slice(tokenPrefix.length) : principal;
}

function assertIn(
  word: string | undefined,
  known: readonly string[],
  kind: string,
  list: string,
): void {
  if (word === undefined || known.includes(word)) return;
  const near = nearestWord(word, known);
  const hint = near === undefined ? '' : `; did you mean '${near}'?`;
  const told = `there is no ${kind} '${word}', and the audit log has none${hint}; see: ${list}`;
  throw new Fault('not_found', told);
}
