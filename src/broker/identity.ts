// Who may write to whom. A worker writes to the orchestrators that its credential names; an orchestrator answers
// the workers whose credentials name it. Nothing else is allowed, whatever a letter says.

import type { Sender } from './contract.ts';

export interface Identity {
  /** Of the credential: another one if the same name is added again. Absent: nobody knows. */
  readonly id?: string | undefined;
  readonly mailbox: string;
  readonly kind: 'worker' | 'orchestrator';
  /** Of a worker. */
  readonly role: string | null;
  /** The orchestrators that a worker may write to. */
  readonly to: readonly string[];
  /** Wall time of the broker; null: never. */
  readonly expiresAt: number | null;
}

/** `recipient` is undefined if nobody has that mailbox. */
export function mayWrite(sender: Identity, recipient: Identity | undefined): boolean {
  if (recipient === undefined) return false;
  if (sender.kind === 'worker') {
    return recipient.kind === 'orchestrator' && sender.to.includes(recipient.mailbox);
  }
  return recipient.kind === 'worker' && recipient.to.includes(sender.mailbox);
}

/** As it is stamped on letters of this identity: those of a worker name its credential. */
export function senderOf(
  { mailbox, role, kind, id }: Pick<Identity, 'mailbox' | 'role' | 'kind' | 'id'>,
  seat: string,
): Sender {
  const isNamed = kind === 'worker' && id !== undefined;
  return { mailbox, seat, role, ...(isNamed && { credential: id }) };
}

/** For whoever has a credential of another mailbox than it believes; it fits into the end of a WebSocket. */
export function otherMailbox(mailbox: string): string {
  return `this credential is of ${mailbox}; use that name, or another credential`;
}
