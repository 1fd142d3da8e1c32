// Charges a call to the budget of its principal's role: before the cache is read, and the bytes of its
// result when that has arrived. What counts is what a client asks a server for: tools, prompts, resources,
// completions and methods that MCP does not define. Lists, subscriptions and the gateway's own tools do not
// count. What follows a task or continues a call that was charged is no further call, but its bytes count. Of
// calls with the same idempotency key only the one that runs is charged, for its result too.

import { Fault } from '../../kernel/fault.ts';
import type { Action } from '../../policy/access.ts';
import { accessOf } from '../../policy/method-access.ts';
import type { Account } from '../../policy/role-budgets/account.ts';
import type { Call, CallParts } from './call-parts.ts';

type ChargeParts = Pick<CallParts, 'access' | 'roleBudgets'>;

const counted: ReadonlySet<Action> = new Set(['call', 'complete', 'get', 'read', 'request']);
/** What gives results of servers. */
const received: ReadonlySet<Action> = new Set([...counted, 'task']);

/**
 * Finds what the call is to be charged to, and throws if nothing is left there. Undefined: it may be counted
 * in this turn. Otherwise ask again when the promise has resolved.
 */
export function roomFor(parts: ChargeParts, call: Call): Promise<unknown> | undefined {
  // A further round is no further call, but what it receives counts.
  if (call.request.isContinued) return undefined;
  const account = accountOf(parts, call, counted);
  if (account instanceof Promise) return account;
  call.account = account;
  return account?.room();
}

/**
 * The call that claimed its idempotency key, and its result with it, also if nobody waits for that any more. If
 * it was never sent, the key is free, and so is the charge. A result beyond the limit is kept under its key.
 */
export async function chargedOnce(
  parts: ChargeParts,
  call: Call,
  run: () => Promise<Buffer>,
): Promise<Buffer> {
  for (let wait = roomFor(parts, call); wait; wait = roomFor(parts, call)) await wait;
  call.account?.count();
  let result: Buffer;
  try {
    result = await run();
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.dispatched === 'no') call.account?.giveBack();
    throw thrown;
  }
  try {
    await countBytes(parts, call, result.length);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    call.withheld = thrown;
  }
  return result;
}

/** Throws if the result must not be given out. A promise: not before it has resolved. */
export function countBytes(
  parts: ChargeParts,
  call: Call,
  bytes: number,
): Promise<void> | undefined {
  const account = call.account ?? accountOf(parts, call, received);
  if (account instanceof Promise) return account.then((opened) => opened.countBytes(bytes));
  return account?.countBytes(bytes);
}

/**
 * Of a call with an idempotency key: the bytes of its result were counted when it arrived. Throws if it must not
 * be given out. A promise: not before it has resolved.
 */
export function assertPaid(parts: ChargeParts, call: Call): Promise<void> | undefined {
  if (call.withheld !== undefined) throw call.withheld;
  // It has claimed the key.
  if (call.account !== undefined) return undefined;
  const account = accountOf(parts, call, received);
  if (account instanceof Promise) return account.then((opened) => opened.assertNotExceeded());
  account?.assertNotExceeded();
  return undefined;
}

function accountOf(
  { access, roleBudgets }: ChargeParts,
  { request }: Call,
  actions: ReadonlySet<Action>,
): Account | Promise<Account> | undefined {
  const { principal, operation, caller } = request;
  const role = access.roleOf(principal);
  if (role === null || !actions.has(accessOf(operation.method).action)) return undefined;
  return roleBudgets.accountOf(principal, role, caller?.client);
}
