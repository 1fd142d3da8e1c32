// What a broker has to offer so that the suite can try it: links for the members of a small fleet, and restarts.

import type { Link } from '../../../src/broker/contract.ts';
import type { Identity } from '../../../src/broker/identity.ts';

const never = { expiresAt: null } as const;

/** The members of the suite. */
export const members = {
  boss: { mailbox: 'boss', kind: 'orchestrator', role: null, to: [], ...never },
  other: { mailbox: 'other', kind: 'orchestrator', role: null, to: [], ...never },
  ann: { mailbox: 'ann.mcp', kind: 'worker', role: 'reader', to: ['boss'], ...never },
  bob: { mailbox: 'bob.mcp', kind: 'worker', role: null, to: ['boss', 'other'], ...never },
} as const satisfies Record<string, Identity>;

export type MemberName = keyof typeof members;

export interface BrokerSubject extends AsyncDisposable {
  link(member: MemberName, seat?: string): Promise<Link>;
  /** With a credential that nobody has. */
  strangersLink(): Promise<Link>;
  /** The broker ends at once, as by a kill, and starts again with what is on its disk. */
  restart(): Promise<void>;
}

export interface BrokerKind {
  readonly name: string;
  /** Restarts keep what is delivered. */
  readonly start: () => Promise<BrokerSubject>;
}
