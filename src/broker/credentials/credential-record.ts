// One credential of the embedded broker: a secret that a worker or an orchestrator sends when it opens a link, and
// the record that is stored of it, from which the secret cannot be computed. The record says whose mailbox it
// is, which role its letters are stamped with, and whom it may write to. A mailbox has one credential: its
// record is stored under the name of the mailbox.

import { isSecretHash, newRecordId, newSecret } from '../../kernel/bearer-secret.ts';
import type { RecordEntry, Records } from '../../store/contract/records.ts';
import { isMailbox, mailboxOfWorker } from '../address.ts';
import type { Identity } from '../identity.ts';

export interface CredentialRecord extends Identity {
  /** Random; another one for the next credential of the same mailbox. */
  readonly id: string;
  /** SHA-256 of the secret, in hexadecimal digits. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

export const maxDestinations = 16;
/** The collection that they are stored in. */
export const credentialCollection = 'credentials';

export interface NewCredential {
  readonly record: CredentialRecord;
  /** It can be shown only now. */
  readonly secret: string;
}

export function newCredential(about: Omit<CredentialRecord, 'hash' | 'id'>): NewCredential {
  const { secret, hash } = newSecret(about.kind === 'worker' ? 'hfw' : 'hfo');
  return { record: { ...about, id: newRecordId(), hash }, secret };
}

const ofWorkers = mailboxOfWorker('');

/** Of a worker or an orchestrator; a mailbox is made of it. */
export function isMemberName(name: string): boolean {
  const hasEmptyPart = name.includes('..') || name.endsWith('.');
  return isMailbox(mailboxOfWorker(name)) && !hasEmptyPart && !name.endsWith(ofWorkers);
}

export const memberNameRule =
  '1 to 60 of a-z, 0-9, "_", "-" and single dots, beginning with a letter or a digit, and not ending with a dot or ".mcp"';

export function memberName({ kind, mailbox }: Pick<Identity, 'kind' | 'mailbox'>): string {
  return kind === 'worker' ? mailbox.slice(0, -ofWorkers.length) : mailbox;
}

/** What comes back from a disk is a credential only if it looks like one. */
export function isCredentialRecord(value: unknown): value is CredentialRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { id, hash, kind, mailbox, role, to, createdAt, expiresAt } = value as Partial<
    Record<keyof CredentialRecord, unknown>
  >;
  return (
    typeof id === 'string' &&
    /^[0-9a-f]{16}$/.test(id) &&
    isSecretHash(hash) &&
    typeof mailbox === 'string' &&
    isMailbox(mailbox) &&
    (kind === 'worker'
      ? isText(role) && mailbox.endsWith(ofWorkers)
      : isOrchestrators(kind, role)) &&
    Array.isArray(to) &&
    to.length <= maxDestinations &&
    to.every((one) => typeof one === 'string' && isMailbox(one)) &&
    typeof createdAt === 'number' &&
    (expiresAt === null || typeof expiresAt === 'number')
  );
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isOrchestrators(kind: unknown, role: unknown): boolean {
  return kind === 'orchestrator' && role === null;
}

/** Those that can be read. */
export async function storedCredentials(records: Records): Promise<readonly CredentialRecord[]> {
  const entries = await records.entries();
  return entries.map(credentialIn).filter((record) => record !== undefined);
}

/** Undefined if it is none. */
export function credentialIn({ key, value }: RecordEntry): CredentialRecord | undefined {
  return isCredentialRecord(value) && value.mailbox === key ? value : undefined;
}
