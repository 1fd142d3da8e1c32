// What a broker has to offer so that the suite can try it: links for the members of a small fleet, and restarts.

import type { Link } from '../../../src/broker/contract.ts';
import type { Identity } from '../../../src/broker/identity.ts';

const never = { expiresAt: null } as const;

/** The members of the suite. */
export const members = {
  boss: {
    id: '00000000000000b0',
    mailbox: 'boss',
    kind: 'orchestrator',
    role: null,
    to: [],
    ...never,
  },
  other: {
    id: '00000000000000b1',
    mailbox: 'other',
    kind: 'orchestrator',
    role: null,
    to: [],
    ...never,
  },
  ann: {
    id: '00000000000000a0',
    mailbox: 'ann.mcp',
    kind: 'worker',
    role: 'reader',
    to: ['boss'],
    ...never,
  },
  bob: {
    id: '00000000000000a1',
    mailbox: 'bob.mcp',
    kind: 'worker',
    role: null,
    to: ['boss', 'other'],
    ...never,
  },
} as const satisfies Record<string, Identity>;

export type MemberName = keyof typeof members;

export interface BrokerSubject extends AsyncDisposable {
  link(member: MemberName, seat?: string): Promise<Link>;
  /** With a credential that nobody has. */
  strangersLink(): Promise<Link>;
  /** The broker ends at once, as by a kill, and starts again with what is on its disk. */
  restart(): Promise<void>;
  /** Its credential is revoked, and its name has another one at once, which later links have. */
  renew(member: MemberName): Promise<void>;
}

export interface BrokerKind {
  readonly name: string;
  /** Restarts keep what is delivered. */
  readonly start: () => Promise<BrokerSubject>;
}
