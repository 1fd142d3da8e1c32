// A credential for a NATS server as one line of text: who its holder is, as the config of the server says it, and
// the secret. What it says of its holder only tells the holder where its mail is: the server goes by its own config.

import { isRecord } from '../kernel/json-values.ts';
import { isCredentialId, isMailbox } from './address.ts';
import { BrokerError } from './broker-error.ts';
import type { Identity } from './identity.ts';

export interface NatsCredential extends Pick<Identity, 'mailbox' | 'kind' | 'role' | 'to' | 'id'> {
  /** The seed of an nkey, or a password. */
  readonly secret: string;
}

const prefix = 'hfn_';

export function natsCredentialText(credential: NatsCredential): string {
  const { mailbox, kind, role, to, secret, id } = credential;
  const text = JSON.stringify({ mailbox, kind, role, to, secret, id });
  return `${prefix}${Buffer.from(text).toString('base64url')}`;
}

/** Throws a BrokerError. */
export function readNatsCredential(text: string): NatsCredential {
  const found = text.startsWith(prefix) ? credentialIn(text.slice(prefix.length)) : undefined;
  if (found !== undefined) return found;
  throw new BrokerError(
    'unsupported',
    'this credential is not one for a NATS server, or is damaged: use the file that holdfast broker nats-config has written',
  );
}

function credentialIn(text: string): NatsCredential | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!isRecord(value)) return undefined;
    const { mailbox, kind, role, to, secret, id } = value;
    const isUsable =
      isMailboxText(mailbox) &&
      (kind === 'worker' || kind === 'orchestrator') &&
      (role === null || typeof role === 'string') &&
      Array.isArray(to) &&
      to.every(isMailboxText) &&
      typeof secret === 'string' &&
      (id === undefined || (typeof id === 'string' && isCredentialId(id)));
    return isUsable ? { mailbox, kind, role, to, secret, id } : undefined;
  } catch {
    return undefined;
  }
}

function isMailboxText(value: unknown): value is string {
  return typeof value === 'string' && isMailbox(value);
}
