// The credentials of an embedded broker as commands see and change them: added, listed, revoked. A mailbox has one.

import { mailboxOfWorker } from '../broker/address.ts';
import {
  type CredentialRecord,
  isMemberName,
  maxDestinations,
  memberName,
  memberNameRule,
  type NewCredential,
  newCredential,
  storedCredentials,
} from '../broker/credentials/credential-record.ts';
import { Fault } from '../kernel/fault.ts';
import type { Records } from '../store/contract/records.ts';

/** Each is a file, and all are read after a change. */
const maxCredentials = 2_000;

export interface ListedCredential extends Omit<CredentialRecord, 'hash'> {
  /** The worker's or the orchestrator's, as it was added. */
  readonly name: string;
}

export function listedCredential({ hash: _, ...told }: CredentialRecord): ListedCredential {
  return { name: memberName(told), ...told };
}

/** Orchestrators first, each kind by name. */
export async function listedCredentials(records: Records): Promise<ListedCredential[]> {
  const stored = (await storedCredentials(records)).map(listedCredential);
  const place = ({ kind, name }: ListedCredential) => `${kind === 'worker' ? 1 : 0} ${name}`;
  return stored.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
}

export interface CredentialWish {
  readonly kind: CredentialRecord['kind'];
  readonly name: string;
  readonly role: string | null;
  /** The orchestrators of a worker. */
  readonly to: readonly string[];
  /** Wall time. */
  readonly now: number;
  readonly expiresAt: number | null;
  /** For the command that revokes it: the end that names its directory. */
  readonly where: string;
}

export interface AddedCredential extends NewCredential {
  /** Orchestrators that it may write to and that have no credential yet. */
  readonly missing: readonly string[];
}

/** Resolves when it is stored. Throws a Fault. */
export async function addCredential(
  records: Records,
  { kind, name, role, to, now, expiresAt, where }: CredentialWish,
): Promise<AddedCredential> {
  for (const one of [name, ...to]) {
    if (isMemberName(one)) continue;
    const whose =
      one === name ? `a${kind === 'worker' ? ' worker' : 'n orchestrator'}` : 'an orchestrator';
    throw refusal(`'${one}' cannot be the name of ${whose}: use ${memberNameRule}`);
  }
  if (to.length > maxDestinations) {
    throw refusal(`a worker writes to at most ${maxDestinations} orchestrators, not ${to.length}`);
  }
  const known = await listedCredentials(records);
  if (known.length >= maxCredentials) {
    throw refusal(
      `there are ${maxCredentials} credentials, which is the most; revoke one that is not needed with: holdfast token revoke NAME${where}`,
    );
  }
  const mailbox = kind === 'worker' ? mailboxOfWorker(name) : name;
  const made = newCredential({
    mailbox,
    kind,
    role,
    to: [...new Set(to)],
    createdAt: now,
    expiresAt,
  });
  const { isPut } = await records.putIfAbsent(mailbox, made.record);
  if (!isPut) {
    throw refusal(
      `the ${kind} '${name}' has a credential already; revoke that one first with: holdfast token revoke ${name}${where}`,
    );
  }
  const orchestrators = new Set(
    known.flatMap((one) => (one.kind === 'orchestrator' ? [one.name] : [])),
  );
  return { ...made, missing: made.record.to.filter((one) => !orchestrators.has(one)) };
}

/** Resolves when it is gone for good. */
export async function revokeCredential(
  records: Records,
  { mailbox }: ListedCredential,
): Promise<void> {
  await records.remove(mailbox);
}

function refusal(text: string): Fault {
  return new Fault('invalid_request', text);
}
