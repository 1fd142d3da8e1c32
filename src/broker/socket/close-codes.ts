// How a WebSocket link of the broker is ended by the hub: the code of the close frame says why.

import type { BrokerRefusal } from '../broker-error.ts';

const codes = {
  bad_letter: 4_400,
  unauthorized: 4_401,
  unsupported: 4_405,
  replaced: 4_409,
  other_store: 4_410,
  full: 4_429,
  lost: 1_012,
} as const satisfies Partial<Record<BrokerRefusal, number>>;

export function closeCodeOf(reason: BrokerRefusal): number {
  return reason in codes ? codes[reason as keyof typeof codes] : codes.lost;
}

/** Any other end of a link is a loss. */
export function refusalOf(code: number): BrokerRefusal {
  const known = Object.entries(codes).find(([, one]) => one === code);
  return (known?.[0] as BrokerRefusal | undefined) ?? 'lost';
}
