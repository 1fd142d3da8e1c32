// The scopes in use. Principals that may see everything share one, which lasts as long as the gateway;
// others have theirs while the policy is the same, the most recently used of them.

import type { HostForGateway } from '../../host/gateway-face.ts';
import type { Principal } from '../../policy/principal.ts';
import { type Scope, type ScopeParts, scopeFor, wholeScope } from './scope.ts';

/** As many roles and paths as are likely to be in use at once. */
const maxScopes = 64;

export class Scopes {
  readonly whole: Scope;
  readonly #parts: ScopeParts;
  readonly #host: HostForGateway;
  /** By the access's name of the scope, the least recently used first; at most `maxScopes`. */
  readonly #scopes = new Map<string, Scope>();
  #version: number;
  /** The latest that was asked for: most requests come from few. */
  #latest: { readonly name: string; readonly scope: Scope } | undefined;

  constructor(parts: ScopeParts) {
    this.#parts = parts;
    this.#host = parts.host;
    this.#version = parts.host.access.version;
    this.whole = wholeScope(parts);
  }

  of(principal: Principal): Scope {
    const { access } = this.#host;
    const name = access.scopeOf(principal);
    if (name === '') return this.whole;
    if (access.version !== this.#version) this.#forgetAll(access.version);
    if (this.#latest?.name === name) return this.#latest.scope;
    const known = this.#scopes.get(name);
    if (known) this.#scopes.delete(name);
    const scope = known ?? scopeFor(this.#parts, principal, this.whole);
    this.#scopes.set(name, scope);
    this.#latest = { name, scope };
    if (this.#scopes.size > maxScopes) this.#forgetOldest();
    return scope;
  }

  #forgetAll(version: number): void {
    this.#version = version;
    this.#latest = undefined;
    this.#scopes.clear();
  }

  #forgetOldest(): void {
    const [oldest] = this.#scopes.keys();
    if (oldest !== undefined) this.#scopes.delete(oldest);
  }

  /** All of them, for a change that concerns each. */
  *all(): Iterable<Scope> {
    yield this.whole;
    yield* this.#scopes.values();
  }
}
