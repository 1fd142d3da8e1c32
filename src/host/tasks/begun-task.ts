// One task that a client has begun at a server: its owner, its connection, and its last known
// state.

import type { Principal } from '../../policy/principal.ts';
import type { Connection } from '../../upstream/connection.ts';
import type { Era } from '../../wire/eras.ts';
import type { Message } from '../../wire/scan.ts';
import type { Caller, Client } from '../connections/caller.ts';
import type { ConnectionSlot } from '../connections/connection-slot.ts';

/** Where a request went: to this connection, in this place. */
export interface Place {
  readonly slot: ConnectionSlot;
  readonly connection: Connection;
}

export interface Beginning {
  readonly server: string;
  readonly tool: string | null;
  readonly era: Era;
  readonly client: Client;
  readonly principal: Principal;
  readonly place: Place;
  /** Under which the server reports on its progress. */
  readonly token: number;
  /** What the client calls that, as it wrote it. */
  readonly progressToken: Buffer | undefined;
}

export interface BegunTask extends Beginning {
  /** Its number among all that were ever begun here: the order of lists, and part of its handle. */
  readonly serial: number;
  readonly taskId: string;
  /** The requests about it that are under way. */
  readonly asking: Set<Caller>;
  /** Its connection is closed, and the task is lost. */
  readonly isLost: boolean;
  /** Its state is final. */
  readonly isOver: boolean;
  /** As the server last described it, JSON; undefined if that was too long to keep. */
  readonly description: Buffer | undefined;
  /** How long it can still be asked for. */
  leftMs(): number;
}

/** A task for another process: its connection by the number under which that is handed over, its client by the key. */
export interface WrittenTask {
  readonly connection: number;
  readonly server: string;
  readonly tool: string | null;
  readonly era: Era;
  readonly client: string;
  readonly principal: Principal;
  readonly token: number;
  readonly progressToken: string | null;
  readonly serial: number;
  readonly taskId: string;
  readonly isOver: boolean;
  /** Its connection is kept open for it. */
  readonly isHeld: boolean;
  readonly description: string | null;
  readonly leftMs: number;
}

/** A message of a server about a task. */
export interface TaskNews {
  readonly server: string;
  readonly taskId: string;
  readonly message: Message;
  /** Undefined for a modern task that was begun on an earlier connection. */
  readonly task: BegunTask | undefined;
  /** The connection of the message: the same id may be another task on another connection. */
  readonly from: Connection;
}

/** Who may ask for a task: for a modern one its principal, for one of 2025-11-25 its session. */
export type Asker = Pick<Beginning, 'era' | 'principal' | 'client'>;

/** Whether it belongs to the caller. */
export function isOf({ era, principal, client }: BegunTask, asker: Asker): boolean {
  if (era !== asker.era) return false;
  return era === 'modern' ? principal.id === asker.principal.id : client.key === asker.client.key;
}
