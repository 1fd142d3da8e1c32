// How many connections of a server are open for single clients. Each is a process, so the sessions of one remote
// owner must not open them without end: at one server all remote owners together have a bound, and each of them
// its share of that. The local user has no such limit. Beyond it the connection of the same owner that has been
// idle longest is closed; where only the server's bound is reached, that of the owner who has the most. Where
// none is idle, the start is refused.

import { Fault } from '../../kernel/fault.ts';
import { OwnerCounts, shareOf } from '../../kernel/owner-counts.ts';
import type { ConnectionSlot } from './connection-slot.ts';

/** Of one server, for all remote owners together. */
export const maxReserved = 64;

/**
 * A connection is about to be opened on this slot, one of `all` of its server. Throws a Fault if its owner, or
 * all owners, have too many in use.
 */
export function makeRoomFor(
  slot: ConnectionSlot,
  all: Iterable<ConnectionSlot>,
  server: string,
): void {
  const { sharingOwner } = slot;
  if (sharingOwner === undefined) return;
  const open = [...all].filter(
    (one) => one !== slot && one.sharingOwner !== undefined && hasProcess(one),
  );
  const own = open.filter((one) => one.sharingOwner === sharingOwner);
  const share = shareOf(maxReserved);
  if (own.length >= share) closeOne(own, share, server);
  else if (open.length >= maxReserved) closeOne(ofLargest(open), maxReserved, server);
}

/** Those that are ending still count: there are never twice as many as allowed. */
function closeOne(slots: readonly ConnectionSlot[], allowed: number, server: string): void {
  const [oldest] = slots
    .filter(({ inFlight, supervisor }) => {
      return inFlight === 0 && supervisor.phase.kind === 'ready' && !supervisor.leases.isWanted;
    })
    .toSorted((a, b) => idleSince(a) - idleSince(b));
  if (oldest === undefined || slots.length >= 2 * allowed) throw reservedFault(server);
  oldest.supervisor.evict();
}

function ofLargest(slots: readonly ConnectionSlot[]): readonly ConnectionSlot[] {
  const counts = new OwnerCounts();
  for (const { sharingOwner = '' } of slots) counts.add(sharingOwner);
  const largest = counts.largest();
  return slots.filter(({ sharingOwner }) => sharingOwner === largest);
}

function hasProcess({ supervisor }: ConnectionSlot): boolean {
  const { kind } = supervisor.phase;
  return kind === 'starting' || kind === 'ready' || kind === 'stopping';
}

function idleSince({ supervisor }: ConnectionSlot): number {
  return supervisor.leases.idleSince ?? 0;
}

function reservedFault(server: string): Fault {
  return new Fault(
    'overloaded',
    `${server} needs a process for each client, and has as many in use as it may have ` +
      `(${shareOf(maxReserved)} for one principal, ${maxReserved} for all); end sessions that are not needed`,
    { server, dispatched: 'no' },
  );
}
