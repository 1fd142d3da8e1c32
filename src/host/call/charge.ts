// Charges a call to the budget of its principal's role: before the cache is read, and the bytes of its
// result when that has arrived. What counts is what a client asks a server for: tools, prompts, resources,
// completions and methods that MCP does not define. Lists, subscriptions, the gateway's own tools, and what
// follows a task or continues a call that was charged do not count. Of calls with the same idempotency key
// only the one that runs is charged.

import { Fault } from '../../kernel/fault.ts';
import type { Action } from '../../policy/access.ts';
import { accessOf } from '../../policy/method-access.ts';
import type { Account } from '../../policy/role-budgets/account.ts';
import type { Call, CallParts } from './call-parts.ts';

type ChargeParts = Pick<CallParts, 'access' | 'roleBudgets'>;

const counted: ReadonlySet<Action> = new Set(['call', 'complete', 'get', 'read', 'request']);

/**
 * Finds what the call is to be charged to, and throws if nothing is left there. Undefined: it may be counted
 * in this turn. Otherwise ask again when the promise has resolved.
 */
export function roomFor(parts: ChargeParts, call: Call): Promise<unknown> | undefined {
  const account = accountOf(parts, call);
  if (account instanceof Promise) return account;
  call.account = account;
  return account?.room();
}

/** The call that claimed its idempotency key: if it was never sent, the key is free, and so is the charge. */
export async function chargedOnce<T>(
  parts: ChargeParts,
  call: Call,
  run: () => Promise<T>,
): Promise<T> {
  for (let wait = roomFor(parts, call); wait; wait = roomFor(parts, call)) await wait;
  call.account?.count();
  try {
    return await run();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.dispatched === 'no') call.account?.giveBack();
    throw thrown;
  }
}

/** Throws if the result must not be given out. A promise: not before it has resolved. */
export function countBytes(
  parts: ChargeParts,
  call: Call,
  bytes: number,
): Promise<void> | undefined {
  if (call.account !== undefined) return call.account.countBytes(bytes);
  const isRepeat = call.request.idempotencyKey !== undefined;
  const account = isRepeat ? accountOf(parts, call) : undefined;
  // The bytes of a repeated answer were counted when it arrived.
  if (account instanceof Promise) return account.then((opened) => opened.assertNotExceeded());
  account?.assertNotExceeded();
  return undefined;
}

function accountOf(
  { access, roleBudgets }: ChargeParts,
  { request }: Call,
): Account | Promise<Account> | undefined {
  const { principal, operation, caller, isContinued } = request;
  const role = access.roleOf(principal);
  if (role === null || isContinued || !counted.has(accessOf(operation.method).action)) {
    return undefined;
  }
  return roleBudgets.accountOf(principal, role, caller?.client);
}
