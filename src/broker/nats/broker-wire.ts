// The connection of a link: a wire whose errors are those of a broker.

import type { NatsRefusal } from '../../nats/nats-error.ts';
import type { Wire } from '../../nats/wire.ts';
import { BrokerError, type BrokerRefusal, credentialWords } from '../broker-error.ts';
import { partOf } from './subjects.ts';

export type BrokerWire = Wire<BrokerError>;

const reasons: Readonly<Record<NatsRefusal, BrokerRefusal>> = {
  unauthorized: 'unauthorized',
  not_allowed: 'not_allowed',
  not_nats: 'not_a_broker',
  unsupported: 'unsupported',
  absent: 'absent',
  // What was asked may or may not have been done.
  timeout: 'not_kept',
  lost: 'lost',
  closed: 'closed',
};

export function refuse(reason: NatsRefusal, detail: string): BrokerError {
  const words = reason === 'unauthorized' ? `${detail}: ${credentialWords('nats')}` : detail;
  return new BrokerError(reasons[reason], words);
}

export function inboxPrefixOf(mailbox: string): string {
  return `_INBOX.${partOf(mailbox)}`;
}
