// The principal behind a letter: the worker, the role and the credential that the broker has stamped on it. The next
// credential of the same name is another principal, as the next token of a name is at the gateway: perhaps another person
// has it, and answers, idempotency keys, tasks and budgets of the earlier one are not its own.

import type { Sender } from '../../broker/contract.ts';
import { type Principal, verifiedPrincipal } from '../../policy/principal.ts';

/** Undefined if it is none that we serve: an orchestrator has no role. */
export function workerPrincipal(
  { mailbox, role, credential }: Sender,
  isOperator: (role: string) => boolean,
): Principal | undefined {
  if (role === null) return undefined;
  const id = credential === undefined ? `worker:${mailbox}` : `worker:${mailbox}:${credential}`;
  return verifiedPrincipal(id, role, () => isOperator(role), mailbox);
}
