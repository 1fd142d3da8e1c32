// Reads the lists of a server, starting it if necessary: for one client, on the connection that its
// calls use, or for everybody, on a connection that is no client's. The server is held by a lease
// meanwhile, and is asked through the gate like any call.

import type { Clock } from '../../kernel/clock.ts';
import { Fault, faultFrom } from '../../kernel/fault.ts';
import type { Connection } from '../../upstream/connection.ts';
import { Interruption } from '../call/interruption.ts';
import type { Caller } from '../connections/caller.ts';
import type { ConnectionSlot } from '../connections/connection-slot.ts';
import type { Server } from '../servers/server.ts';
import type { Catalogue } from './catalogue.ts';
import { type ListKind, listKinds } from './listings.ts';

/** What is needed beside the server. */
interface ReadingParts {
  readonly clock: Clock;
}

export interface Freshening {
  /** The client that wants to know; the server is started for its class. */
  readonly caller?: Caller | undefined;
  readonly deadlineMs: number | undefined;
  /**
   * Requests the tools again where the start of the server has just failed to read them, to get the
   * reason.
   */
  readonly asksAgain: boolean;
  /** Called when the connection becomes this client's own: what is listed there is for it only. */
  readonly parted?: (() => void) | undefined;
}

/** How often a reading may change its connection, because it became another client's. */
const maxMoves = 3;

/** Reads one of its lists again, starting the server if necessary. Throws a Fault. */
export async function freshen(
  parts: ReadingParts,
  server: Server,
  kind: ListKind,
  freshening: Freshening,
): Promise<void> {
  for (let moves = 0; ; moves += 1) {
    try {
      return await freshenOnce(parts, server, kind, freshening);
    } catch (thrown) {
      const isMoved = thrown instanceof Fault && thrown.cause instanceof Moved;
      if (!isMoved || moves >= maxMoves) throw thrown;
    }
  }
}

/** The connection has become another client's while the list was waited for. */
class Moved extends Error {}

async function freshenOnce(
  parts: ReadingParts,
  server: Server,
  kind: ListKind,
  { caller, deadlineMs, asksAgain, parted }: Freshening,
): Promise<void> {
  if (caller?.client.isGone) throw new Fault('cancelled', 'the client has disconnected');
  const shown = server.isBorrowedFor(caller) ? undefined : server.catalogueFor(caller);
  const read = shown && server.slotOf(shown);
  const isIts = read && (caller === undefined || !server.slots.isTaken(read, caller));
  const slot = read && isIts ? read : server.slots.for(caller);
  // A client that is asked in calls cannot be asked during a list: it is asked in its call.
  const asked = caller?.client.isAskedInCalls ? undefined : caller;
  const whose = { caller, asked, deadlineMs, parted };
  await onConnection(parts, server, slot, whose, async (connection, isNew) => {
    const catalogue = server.catalogueOn(slot, caller);
    // Making the connection has usually read the list already, for the clients that it was made for.
    const isFresh = kind === 'tools' ? catalogue.isFresh : catalogue.lists.isFresh(kind);
    const isReadInVain = kind === 'tools' && isNew && catalogue.lists.isAskedOn(connection);
    if (isFresh || (isReadInVain && !asksAgain)) return;
    await Promise.all([
      catalogue.lists.load(kind, connection),
      kind === 'tools' ? undefined : withTools(catalogue, connection),
    ]);
  });
}

/** What a class of clients is offered is known with its tools: they are read with its first list. */
async function withTools(catalogue: Catalogue, connection: Connection): Promise<void> {
  const isUnread = connection.era === 'modern' && !catalogue.lists.isAskedOn(connection);
  if (isUnread) await catalogue.tryLoad(connection);
}

/**
 * Reads all lists on a connection that is no client's, for all clients of this one's class, starting
 * the server if necessary: for a server that has listed to single clients only. What was started for
 * this ends with it, if nobody else uses it. Throws a Fault.
 */
export async function readForAll(
  parts: ReadingParts,
  server: Server,
  caller: Caller,
  deadlineMs: number,
): Promise<void> {
  const slot = server.slots.forClassOf(caller);
  const { supervisor } = slot;
  const wasRunning = supervisor.connection !== undefined || supervisor.phase.kind === 'starting';
  try {
    await onConnection(parts, server, slot, { deadlineMs }, async (connection) => {
      const { lists } = server.catalogueOn(slot, caller);
      const unread = listKinds.filter((kind) => !lists.isFresh(kind));
      await Promise.allSettled(unread.map((kind) => lists.load(kind, connection)));
    });
  } finally {
    if (!wasRunning) supervisor.evict();
  }
}

interface ReadingOf {
  /** The client that it is read for: not on the connection of another one. */
  readonly caller?: Caller | undefined;
  /** The same, if it can be asked meanwhile. */
  readonly asked?: Caller | undefined;
  readonly deadlineMs: number | undefined;
  readonly parted?: (() => void) | undefined;
}

/** Does this on the connection of this slot, which is made if there is none. Throws a Fault. */
async function onConnection(
  parts: ReadingParts,
  server: Server,
  slot: ConnectionSlot,
  { caller, asked, deadlineMs, parted }: ReadingOf,
  work: (connection: Connection, isNew: boolean) => Promise<void>,
): Promise<void> {
  const { supervisor } = slot;
  const pass = supervisor.gate();
  const interruption = new Interruption();
  using _deadline =
    deadlineMs === undefined
      ? undefined
      : parts.clock.after(deadlineMs, () => interruption.raise(slowFault(server, deadlineMs)));
  using _reserved = slot.onReserved(() => {
    const isTaken = caller !== undefined && server.slots.isTaken(slot, caller);
    if (isTaken) interruption.raise(movedFault());
    else parted?.();
  });
  supervisor.leases.hold();
  slot.enter(asked);
  try {
    const earlier = supervisor.connection;
    const connection = earlier ?? (await interruption.of(supervisor.acquire()));
    await interruption.of(work(connection, earlier === undefined));
    supervisor.breaker.succeeded(pass);
  } catch (thrown) {
    supervisor.breaker.withdrawn(pass);
    throw faultFrom(thrown).with({ server: server.name });
  } finally {
    slot.leave(asked);
    supervisor.leases.release();
    server.slots.settle(slot);
    server.slots.changes.tell();
  }
}

function movedFault(): Fault {
  const detail =
    'the connection was assigned to another client while its lists were read; try again';
  return new Fault('unavailable', detail, {}, new Moved());
}

function slowFault(server: Server, deadlineMs: number): Fault {
  const { name, isElsewhere } = server;
  const next = isElsewhere ? 'try again' : `look at it with: holdfast status ${name}`;
  const detail = `${name} did not list its tools within ${deadlineMs} ms; ${next}`;
  return new Fault('timeout', detail, { server: name });
}
