// Who was allowed what, and when, as the driver noted it: the roles of each edition of the config, and the
// tokens. An edition may be in use from the moment at which it was written until its successor was seen to be in
// use, so that at some moments two may be; a question about a time is answered for all of them.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type JsonObject, jsonLines } from './json-lines.ts';
import type { Verdict } from './verdict.ts';

/** A client that has a token: which one, by which path, and how that is marked which is made for it. */
export interface Who {
  readonly token: string;
  readonly path: { readonly kind: 'server' | 'role'; readonly name: string } | null;
  readonly mark: string;
}

export interface TokenLife {
  readonly role: string;
  addedAt: number;
  /** Its revocation begins, and is done; then everything of it has to be over. */
  revokingAt: number;
  revokedAt: number;
  overAt: number;
}

interface Edition {
  readonly from: number;
  until: number;
  /** By role: the tools, as `server/tool`. */
  readonly roles: ReadonlyMap<string, ReadonlySet<string>>;
}

/** From one time to another, both included. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** So long after its revocation a token may still be good for something. */
const graceMs = 1000;
/**
 * What the gateway ends when it has read its tokens travels on other connections than the answer by which the driver
 * learns that it has: in which order a busy process hears of the two says nothing.
 */
const onItsWayMs = 100;
const NEVER = Number.POSITIVE_INFINITY;

export class AccessBook {
  readonly #editions: Edition[] = [];
  readonly #tokens = new Map<string, TokenLife>();
  readonly #verdict: Verdict;

  constructor(directory: string, verdict: Verdict) {
    this.#verdict = verdict;
    const file = join(directory, 'access.jsonl');
    if (!existsSync(file)) return;
    for (const line of jsonLines(file)) {
      const place = `access.jsonl:${line.number}`;
      if (line.kind === 'torn') verdict.violates('evidence', `${place} is torn: ${line.text}`);
      else this.#take(line.value, place);
    }
  }

  token(name: string): TokenLife | undefined {
    return this.#tokens.get(name);
  }

  /** Was it allowed at some moment of this time? */
  wasEverAllowed(who: Who, tool: string, span: Span): boolean {
    return this.#during(span).some((edition) => this.#allows(edition, who, tool));
  }

  /** Was it allowed at every moment of it, with a token that was valid all the time? */
  wasAlwaysAllowed(who: Who, tool: string, span: Span): boolean {
    const life = this.#tokens.get(who.token);
    if (life === undefined || life.addedAt > span.from || life.revokingAt <= span.to) return false;
    return this.#during(span).every((edition) => this.#allows(edition, who, tool));
  }

  #during({ from, to }: Span): readonly Edition[] {
    return this.#editions.filter((edition) => edition.from <= to && edition.until >= from);
  }

  #allows({ roles }: Edition, { token, path }: Who, tool: string): boolean {
    const role = this.#tokens.get(token)?.role ?? '';
    if (roles.get(role)?.has(tool) !== true) return false;
    if (path === null) return true;
    if (path.kind === 'server') return tool.startsWith(`${path.name}/`);
    return roles.get(path.name)?.has(tool) === true;
  }

  #take(line: JsonObject, place: string): void {
    const at = Number(line['t']);
    if (line['event'] === 'roles') return this.#roles(line, at, place);
    if (line['event'] === 'token') return this.#token(line, at, place);
    this.#gap(`${place}: no event is called ${String(line['event'])}`);
  }

  #roles({ phase, roles }: JsonObject, at: number, place: string): void {
    if (!isObject(roles)) return this.#gap(`${place} has no roles`);
    if (phase === 'writing') {
      const rows = Object.entries(roles).map(([name, tools]) => {
        return [name, new Set(Array.isArray(tools) ? tools.map(String) : [])] as const;
      });
      this.#editions.push({ from: at, until: NEVER, roles: new Map(rows) });
      this.#verdict.adds('roles: editions of the config');
      return;
    }
    const before = this.#editions.at(-2);
    if (before !== undefined) before.until = at;
  }

  #token({ phase, token, role }: JsonObject, at: number, place: string): void {
    const name = String(token);
    const known = this.#tokens.get(name);
    if (phase === 'added') {
      if (known !== undefined) this.#gap(`${place} adds ${name} again`);
      const life = {
        role: String(role),
        addedAt: at,
        revokingAt: NEVER,
        revokedAt: NEVER,
        overAt: NEVER,
      };
      this.#tokens.set(name, life);
    } else if (known === undefined) this.#gap(`${place}: ${name} was never added`);
    else if (phase === 'revoking') known.revokingAt = at;
    else if (phase === 'over') known.overAt = Math.max(known.overAt, at + onItsWayMs);
    else {
      known.revokedAt = at;
      known.overAt = at + graceMs;
      this.#verdict.adds('roles: tokens revoked');
    }
  }

  #gap(finding: string): void {
    this.#verdict.violates('evidence', finding);
  }
}
