// The principal behind a letter: the worker and the role that the broker has stamped on it.

import type { Sender } from '../../broker/contract.ts';
import { type Principal, verifiedPrincipal } from '../../policy/principal.ts';

/** Undefined if it is none that we serve: an orchestrator has no role. */
export function workerPrincipal(
  { mailbox, role }: Sender,
  isOperator: (role: string) => boolean,
): Principal | undefined {
  if (role === null) return undefined;
  return verifiedPrincipal(`worker:${mailbox}`, role, () => isOperator(role), mailbox);
}
