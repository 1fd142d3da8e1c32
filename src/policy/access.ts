// The authorization request that every path makes: may this principal do this? A request says what
// is to be done (`action`), at which server, with what kind of thing, by which name and by which
// MCP method. Three things can say no: the path the request came by, which only takes away; the roles of
// the config; and a guard, which is set by the library's user. Only an explicit permission counts: a guard
// that throws, or returns something else or a promise, denies. None of them sees what is registered, so a
// denied name cannot be distinguished from an unknown one. Everything that is composed for a principal
// and stored carries `version`, which changes with the policy.

import { Fault } from '../kernel/fault.ts';
import { type Cut, cutOf, isLocalUser, localUser, type Principal } from './principal.ts';
import { noRoles, type Roles } from './roles/roles.ts';

/** What a guard decides. */
export type Verdict =
  | {
      /** It may be done. */
      readonly allow: true;
    }
  | {
      /** It may not be done. */
      readonly allow: false;
      /** The reason, in one line: for the local user, operators and the audit log. Others are told that there is no such thing. */
      readonly reason: string;
    };

/** What is to be done. */
export type Action =
  /** Call a tool. */
  | 'call'
  /** Ask for completions of an argument of a prompt or resource template. */
  | 'complete'
  /** Receive the events of a server (library). */
  | 'events'
  /** Get a prompt. */
  | 'get'
  /** Keep a server running (library). */
  | 'lease'
  /** See it in a list, in a search, or in the gateway's information about its servers. */
  | 'list'
  /** Send a notification to a server. */
  | 'notify'
  /** Read a resource, a folder or a skill. */
  | 'read'
  /** Restart a server. */
  | 'reload'
  /** Use a method that MCP does not define. */
  | 'request'
  /** Register a server (library). */
  | 'spawn'
  /** Cause the start of a server that may own a name. */
  | 'start'
  /** Read the state of a server. */
  | 'status'
  /** Stop a server. */
  | 'stop'
  /** Receive changes of a resource. */
  | 'subscribe'
  /** Ask about, follow or cancel a task that a tool call has become. */
  | 'task';

/** What a name refers to: tools, prompts and resources (by URI) have separate names. */
export type Kind = 'tool' | 'prompt' | 'resource' | 'server' | 'other';

/** What a principal wants to do. */
export interface AccessRequest {
  /** What is to be done. */
  readonly action: Action;
  /** The server's name in the config; `holdfast` for the gateway's own tools. */
  readonly server: string;
  /** What `name` refers to. */
  readonly kind: Kind;
  /** The tool's or prompt's name, the resource's URI, the custom method; null: the server as a whole. */
  readonly name: string | null;
  /**
   * The MCP method that caused it; null for what no client requests (library, change
   * notifications).
   */
  readonly method: string | null;
  /** Of a server as a whole: only what it has of this kind is needed. */
  readonly of?: 'tool' | 'prompt' | 'resource';
}

/** Decides for each request. `server` and `tool` are `request.server` and `request.name`. */
export type Guard = (
  principal: Principal,
  server: string,
  tool: string | null,
  request: AccessRequest,
) => Verdict;

export class Access {
  #guard: Guard | null = null;
  #roles: Roles = noRoles;
  #version = 0;

  /** Without a guard and without roles the local user may do everything, and all others nothing. */
  get guard(): Guard | null {
    return this.#guard;
  }

  set guard(guard: Guard | null) {
    this.#guard = guard;
    this.#version += 1;
  }

  /** With roles in the config a guard can only take away from what they allow. */
  get roles(): Roles {
    return this.#roles;
  }

  set roles(roles: Roles) {
    this.#roles = roles;
    this.#version += 1;
  }

  /** A different number for every policy that was set. */
  get version(): number {
    return this.#version;
  }

  /** Whether there is anything that can distinguish one principal from another. */
  get hasPolicy(): boolean {
    return this.#guard !== null || !this.#roles.isEmpty;
  }

  /**
   * The same for all principals that may do the same; empty for those who may do everything. What is
   * composed for one of them is right for the others.
   */
  scopeOf(principal: Principal): string {
    const cut = cutOf(principal);
    // Names may have spaces in them: as JSON, two different scopes are never the same text.
    const path = cut === undefined ? '' : JSON.stringify(['by', cut.kind, cut.name]);
    if (this.#guard !== null) return JSON.stringify(['id', principal.id, principal.role]);
    if (isLocalUser(principal) && this.#roles.localRole === null) return path;
    const role = this.roleOf(principal);
    if (this.#roles.isEverything(role)) return path;
    const scope = this.#roles.scopeOf(role) ?? 'nothing';
    return path === '' ? scope : JSON.stringify([scope, cut?.kind, cut?.name]);
  }

  may(principal: Principal, request: AccessRequest): Verdict {
    const denial = this.#denial(principal, request);
    return denial === undefined ? allowed : { allow: false, reason: denial.reason };
  }

  /** For calls and other actions: returns if it is allowed; throws `denied` if not. */
  authorize(principal: Principal, request: AccessRequest): void {
    const denial = this.#denial(principal, request);
    if (denial !== undefined) throw deniedFault(request, denial);
  }

  /** For lists, searches and change notifications, where denied entries are omitted. */
  isAllowed(principal: Principal, request: AccessRequest): boolean {
    return this.#denial(principal, request) === undefined;
  }

  /**
   * For a change of the config, which is the local user's alone whatever its role: only the guard is asked.
   */
  authorizeOwn(request: AccessRequest): void {
    const denial = this.#guardDenial(localUser, request);
    if (denial !== undefined) throw deniedFault(request, denial);
  }

  #denial(principal: Principal, request: AccessRequest): Denial | undefined {
    const cut = cutOf(principal);
    return (
      (cut && this.#cutDenial(cut, request)) ??
      this.#roleDenial(principal, request) ??
      this.#guardDenial(principal, request)
    );
  }

  #cutDenial({ kind, name }: Cut, request: AccessRequest): Denial | undefined {
    if (kind === 'role') return because(this.#roles.denial(name, request));
    return request.server === name ? undefined : { reason: `the path is for ${name} only` };
  }

  #roleDenial(principal: Principal, request: AccessRequest): Denial | undefined {
    if (isLocalUser(principal) && this.#roles.localRole === null) return undefined;
    // A program that has set a guard and names no roles decides by its guard alone.
    if (this.#roles.isEmpty) return this.#guard === null ? nothingGranted : undefined;
    return because(this.#roles.denial(this.roleOf(principal), request));
  }

  /** The role whose rules apply to it; null: none. */
  roleOf(principal: Principal): string | null {
    return isLocalUser(principal) ? this.#roles.localRole : principal.role;
  }

  #guardDenial(principal: Principal, request: AccessRequest): Denial | undefined {
    const guard = this.#guard;
    if (guard === null) return undefined;
    try {
      const verdict = guard(principal, request.server, request.name, request);
      if (verdict.allow === true) return undefined;
      return verdict.allow === false ? { reason: oneLine(verdict.reason) } : noVerdict;
    } catch (thrown) {
      const words = thrown instanceof Error ? thrown.message : thrown;
      return { reason: `the guard itself failed: ${oneLine(words)}`, cause: thrown };
    }
  }
}

function because(reason: string | undefined): Denial | undefined {
  return reason === undefined ? undefined : { reason };
}

/** How a principal reaches something: the action, and the method of its request. */
export type Asked = Pick<AccessRequest, 'action' | 'method'>;

/** The server as a whole. */
export function serverRequest(
  action: Action,
  server: string,
  method: string | null = null,
): AccessRequest {
  return { action, server, kind: 'server', name: null, method };
}

/** What a server has of one kind. */
export function kindRequest(
  action: Action,
  server: string,
  of: NonNullable<AccessRequest['of']>,
): AccessRequest {
  return { ...serverRequest(action, server), of };
}

const allowed: Verdict = Object.freeze({ allow: true });

interface Denial {
  readonly reason: string;
  readonly cause?: unknown;
}

function deniedFault({ action, server, kind, name }: AccessRequest, denial: Denial): Fault {
  const what = name === null ? server : `${server}/${name}`;
  const detail = `${action} of '${what}' is not allowed: ${denial.reason}`;
  const facts = kind === 'tool' && name !== null ? { server, tool: name } : { server };
  return new Fault('denied', detail, facts, denial.cause);
}

const nothingGranted: Denial = {
  reason:
    'no role and no guard allows it, and without one only the local user has access; give the principal a role',
};

const noVerdict: Denial = {
  reason:
    'the guard returned no decision; it must return { allow: true } or { allow: false, reason }',
};

/** A guard is the user's own code, and may be plain JavaScript that omits the reason. */
function oneLine(words: unknown): string {
  const line = typeof words === 'string' ? words.replace(/\s+/g, ' ').trim() : '';
  return line === '' ? 'no reason given' : line;
}
