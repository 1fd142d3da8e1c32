// The connection that a call is given. It is chosen and entered in one step, so that no other call is
// given the same one meanwhile. If all connections of its client are in use for calls with other roots,
// the call waits until one of them has ended; such calls count against the queue of the server, with those
// that wait in it.

import { CancelSignal, type Signal } from '../../kernel/cancel-signal.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { ConnectionSlot } from '../connections/connection-slot.ts';
import type { Server } from '../servers/server.ts';
import { cancelledFault, fullFault, noSlotFault } from './call-faults.ts';
import type { CallRequest } from './call-parts.ts';

/** Undefined if it has to wait: see `nextSlot`. */
export function enteredSlot(server: Server, request: CallRequest): ConnectionSlot | undefined {
  const slot = request.slot ?? server.slots.forCall(request.caller);
  slot?.enter(request.caller);
  return slot;
}

/** The call has ended there, or was refused: another may take its place. */
export function leaveSlot(server: Server, slot: ConnectionSlot, { caller }: CallRequest): void {
  slot.leave(caller);
  server.slots.changes.tell();
}

/** Whether calls may be sent there. Throws a Fault, and then the call has left. */
export function gateOf(server: Server, slot: ConnectionSlot, request: CallRequest): number {
  try {
    return slot.supervisor.gate();
  } catch (thrown) {
    leaveSlot(server, slot, request);
    throw thrown;
  }
}

/** Waits for a connection, for `callTimeoutMs`. Rejects with a Fault. */
export async function nextSlot(
  clock: Clock,
  server: Server,
  request: CallRequest,
  signal: Signal | undefined,
): Promise<ConnectionSlot> {
  const { name, config, slots, admission } = server;
  const { changes } = slots;
  if (signal?.aborted) throw cancelledFault(name);
  const waiting = changes.waiting + admission.queued;
  if (waiting >= config.queue) throw fullFault(name, waiting);
  const giveUp = new CancelSignal();
  const leave = () => giveUp.abort();
  using _timer = clock.after(config.callTimeoutMs, leave);
  signal?.addEventListener('abort', leave);
  changes.waiting += 1;
  try {
    while (!giveUp.aborted) {
      await changes.next(giveUp);
      const slot = signal?.aborted ? undefined : enteredSlot(server, request);
      if (slot) return slot;
    }
    throw signal?.aborted ? cancelledFault(name) : noSlotFault(name);
  } finally {
    changes.waiting -= 1;
    signal?.removeEventListener('abort', leave);
  }
}
