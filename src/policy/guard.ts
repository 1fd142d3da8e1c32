// The one question every path asks: may this principal use this server, or this tool of it? The
// guard itself is given (by the host's roles or by the library's user); this file asks it, and
// keeps the invariant that only a clear yes is a yes: a guard that throws, answers with something
// else or with a promise denies. It knows nothing of what is registered, so that a denied name and
// an unknown name are told apart by nobody who may not see either.

import { Fault } from '../kernel/fault.ts';
import { localUser, type Principal } from './principal.ts';

export type Verdict = { readonly allow: true } | { readonly allow: false; readonly reason: string };

/** What a name stands for: tools, prompts and resources (by URI) are named apart from each other. */
export type Kind = 'tool' | 'prompt' | 'resource' | 'other';

/** A null tool asks for the server as a whole; for a prompt or resource it is its name or URI. */
export type Guard = (
  principal: Principal,
  server: string,
  tool: string | null,
  kind: Kind,
) => Verdict;

/** What is being attempted; only for the words of a denial. */
export type Operation =
  | 'call'
  | 'complete'
  | 'get'
  | 'lease'
  | 'list'
  | 'read'
  | 'reload'
  | 'search'
  | 'spawn'
  | 'start'
  | 'stop'
  | 'subscribe';

/** Returns if it may be done; throws `denied` if not. For calls and everything else that acts. */
export function authorize(
  guard: Guard | null,
  principal: Principal,
  server: string,
  tool: string | null,
  operation: Operation,
  kind: Kind = 'tool',
): void {
  const denial = denialOf(guard, principal, server, tool, kind);
  if (denial === undefined) return;
  const name = tool === null ? server : `${server}/${tool}`;
  throw new Fault(
    'denied',
    `${operation} of '${name}' denied by allowlist: ${denial.reason}`,
    tool === null ? { server } : { server, tool },
    denial.cause,
  );
}

/** The same decision as a claim, for lists and searches, where a denied name is simply absent. */
export function isAllowed(
  guard: Guard | null,
  principal: Principal,
  server: string,
  tool: string | null,
  kind: Kind = 'tool',
): boolean {
  return denialOf(guard, principal, server, tool, kind) === undefined;
}

interface Denial {
  readonly reason: string;
  readonly cause?: unknown;
}

function denialOf(
  guard: Guard | null,
  principal: Principal,
  server: string,
  tool: string | null,
  kind: Kind,
): Denial | undefined {
  if (guard === null) return principal === localUser ? undefined : nothingGranted;
  try {
    const verdict = guard(principal, server, tool, kind);
    if (verdict.allow === true) return undefined;
    return verdict.allow === false ? { reason: oneLine(verdict.reason) } : noVerdict;
  } catch (thrown) {
    const words = thrown instanceof Error ? thrown.message : thrown;
    return { reason: `the guard itself failed: ${oneLine(words)}`, cause: thrown };
  }
}

const nothingGranted: Denial = {
  reason: 'no guard is set and only the local user may go without; give the principal a role',
};

const noVerdict: Denial = {
  reason: 'the guard gave no verdict; it must return { allow: true } or { allow: false, reason }',
};

/** A guard is the user's own code, and may be plain JavaScript that leaves the reason out. */
function oneLine(words: unknown): string {
  const line = typeof words === 'string' ? words.replace(/\s+/g, ' ').trim() : '';
  return line === '' ? 'no reason given' : line;
}
