// Charges a call to the budget of its principal's role: before the cache is read, and the bytes of its
// result when that has arrived. What counts is what a client asks a server for: tools, prompts, resources,
// completions and methods that MCP does not define. Lists, subscriptions and the gateway's own tools do not
// count. What follows a task or continues a call that was charged is no further call, but its bytes count. Of
// calls with the same idempotency key only the one that runs is charged, for its result too. An error that a
// server answers with counts as a result does, and so do the progress that its caller is told and what a server says
// or asks by itself.

import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Action } from '../../policy/access.ts';
import { accessOf } from '../../policy/method-access.ts';
import type { Principal } from '../../policy/principal.ts';
import type { Account } from '../../policy/role-budgets/account.ts';
import type { CountedClient } from '../../policy/role-budgets/session-accounts.ts';
import { unlessAborted } from '../../upstream/unless-aborted.ts';
import { cancelledFault, RpcAnswer } from './call-faults.ts';
import type { Call, CallParts, CallRequest } from './call-parts.ts';

type ChargeParts = Pick<CallParts, 'access' | 'roleBudgets'>;
type BudgetParts = Pick<CallParts, 'budgets'>;

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

/** Waits for room, as long as the caller does. */
export async function waitedFor({ request }: Call, wait: Promise<unknown>): Promise<void> {
  const { signal, server } = request;
  try {
    await (signal === undefined ? wait : unlessAborted(signal, wait));
  } catch (thrown) {
    throw signal?.aborted ? cancelledFault(server, signal.reason) : thrown;
  }
}

/** A call that was denied while it waited, and never sent, is not charged; nor for the answer that it did not get. */
export function giveBackDenied({ budgets }: BudgetParts, call: Call, fault: Fault): void {
  if (!call.isCharged || fault.code !== 'denied' || fault.dispatched !== 'no') return;
  budgets.giveBack(call.chargedBytes);
  // With a key its role was charged by `chargedOnce`, which gives that back itself.
  if (call.key === undefined) call.account?.giveBack(call.chargedBytes);
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
    const told = await countedError(parts, call, thrown);
    if (told !== thrown) call.withheld = told as Fault;
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
 * The call has failed. If its server has answered with an error, that counts as a result does. Resolves to what
 * the caller is told: the same, or that its budget is exceeded.
 */
export async function countedError(
  parts: ChargeParts,
  call: Call,
  thrown: unknown,
): Promise<unknown> {
  const answer = thrown instanceof Fault ? thrown.cause : undefined;
  if (!(answer instanceof RpcAnswer)) return thrown;
  try {
    await countBytes(parts, call, answer.error.length);
    return thrown;
  } catch (exceeded) {
    return exceeded;
  }
}

/** The same for a call with an idempotency key, whose error was counted when it arrived. */
export async function paidError(parts: ChargeParts, call: Call, thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof Fault) || thrown.code !== 'rpc_error') return thrown;
  try {
    await assertPaid(parts, call);
    return thrown;
  } catch (exceeded) {
    return exceeded;
  }
}

/**
 * Progress of the call has arrived. False: it exceeds the limit and must not be given out. Nothing waits for what is
 * recorded: it would come after the result.
 */
export function mayHearProgress(parts: ChargeParts, call: Call, bytes: number): boolean {
  return isWithin(() => countBytes(parts, call, bytes));
}

/**
 * A log line, question or other message of a server is about to be given to a client of this principal. False: it
 * exceeds the limit and must not be. Nothing waits here, either.
 */
export function mayReceive(
  { access, roleBudgets }: ChargeParts,
  principal: Principal,
  client: CountedClient,
  bytes: number,
): boolean {
  const role = access.roleOf(principal);
  if (role === null) return true;
  const account = roleBudgets.accountOf(principal, role, client);
  return isWithin(() =>
    account instanceof Promise
      ? account.then((opened) => opened.countBytes(bytes))
      : account?.countBytes(bytes),
  );
}

function isWithin(count: () => Promise<void> | undefined): boolean {
  try {
    count()?.catch(ignored);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return false;
  }
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

/** An outcome that was paid for is given out once more. Throws if it must not be. A promise: not before it has resolved. */
export function countAgain(
  parts: ChargeParts,
  request: ChargedRequest,
  bytes: number,
): Promise<void> | undefined {
  const account = accountOf(parts, { request }, received);
  if (account instanceof Promise) return account.then((opened) => opened.countBytes(bytes));
  return account?.countBytes(bytes);
}

/** What decides whom a call is charged to. */
export type ChargedRequest = Pick<CallRequest, 'principal' | 'operation' | 'caller'>;

function accountOf(
  { access, roleBudgets }: ChargeParts,
  { request }: { readonly request: ChargedRequest },
  actions: ReadonlySet<Action>,
): Account | Promise<Account> | undefined {
  const { principal, operation, caller } = request;
  const role = access.roleOf(principal);
  if (role === null || !actions.has(accessOf(operation.method).action)) return undefined;
  return roleBudgets.accountOf(principal, role, caller?.client);
}
